"""`deploy diagnose` of the logs of several hosts: what they are called, and what is said of them together."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from orchestrator.base.errors import UsageError
from orchestrator.cli.diagnose import diagnose
from orchestrator.cli.host_logs import of
from tests.diagnosis.labels import log, named
from tests.diagnosis.test_across import FOLDER
from tests.diagnosis.test_sglang import DIES


def run(*args: str) -> Result:
    return CliRunner().invoke(diagnose, args)


def pair(name: str) -> list[str]:
    return [str(FOLDER / f"{name}.{host}.log") for host in ("alpha", "beta")]


@pytest.mark.parametrize(
    ("files", "hosts"),
    [
        (["vllm.log"], ["vllm"]),
        (["tp2.alpha.log", "tp2.beta.log"], ["alpha", "beta"]),
        (["a/gpu-1/vllm.log", "a/gpu-2/vllm.log"], ["gpu-1", "gpu-2"]),
        (["10.0.0.1.log", "10.0.0.2.log"], ["10.0.0.1", "10.0.0.2"]),
        (["x/rank0.log", "y/rank1.log"], ["x/rank0", "y/rank1"]),
        (["a.log", "a.log", "b.log"], ["a", "b"]),
    ],
)
def test_a_host_is_called_as_what_tells_its_file_from_the_others(files: list[str], hosts: list[str]) -> None:
    assert [log.host for log in of(files)] == hosts


def test_a_folder_is_its_logs_or_those_of_the_folders_in_it(tmp_path: Path) -> None:
    for host in ("gpu-1", "gpu-2"):
        (tmp_path / host).mkdir()
        (tmp_path / host / "vllm.log").touch()
    assert [log.host for log in of([str(tmp_path)])] == ["gpu-1", "gpu-2"]
    (tmp_path / "alone.log").touch()
    assert [log.host for log in of([str(tmp_path)])] == ["alone"]


def test_a_file_without_a_byte_is_no_log_of_a_host(tmp_path: Path) -> None:
    empty = tmp_path / "empty.log"
    empty.touch()
    alpha = str(FOLDER / "rank1-config-differs-shape.alpha.log")
    shown, alone = run(alpha, str(empty)), run(alpha)
    assert (shown.exit_code, shown.stdout) == (alone.exit_code, alone.stdout)
    assert "empty.log is empty" in " ".join(shown.stderr.split())


def test_the_cause_is_told_with_its_host_and_what_the_other_said() -> None:
    shown = run(*pair("rank1-config-differs-shape"))
    assert shown.exit_code == 6
    assert all(len(line) <= 80 or " " not in line.strip() for line in shown.stdout.splitlines())
    words = " ".join(shown.stdout.split())
    for part in (
        "exceeds dimension size (256)",
        "host beta, by 2 logs read together",
        "host alpha: only follows: RuntimeError: Connection closed by peer",
        "weights-shape-mismatch",
    ):
        assert part in words


def test_json_names_host_and_file_and_what_each_has_to_do_with_it() -> None:
    files = pair("pp2-healthy")
    shown = run(*files, "--json")
    (line,) = shown.stdout.splitlines()
    told = json.loads(line)
    assert shown.exit_code == 7
    assert (told["host"], told["file"], told["root_cause"]["process"]) == ("beta", files[1], "Worker_PP1")
    assert [(each["host"], each["part"]) for each in told["hosts"]] == [("alpha", "other"), ("beta", "cause")]
    assert told["hosts"][0]["root_cause"]["exception"] == "KeyError"


def test_hosts_that_do_not_reach_each_other_are_told_with_what_must_be_open() -> None:
    shown = run(*pair("firewall-master-port"), "--idle-seconds", "900")
    assert shown.exit_code == 8
    words = " ".join(shown.stdout.split())
    assert "alpha and beta do not reach each other" in words
    assert "10.80.0.1:29501" in words
    assert "ip_local_port_range" in words


@pytest.mark.parametrize("more", ["-f", "-"])
def test_what_is_asked_of_one_log_alone(more: str) -> None:
    refused = run(*pair("pp2-healthy"), more).exception
    assert isinstance(refused, UsageError)
    assert refused.code == "one_log_only"


def test_all_of_them_are_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    shown = run(*pair("pp2-healthy"), "--bundle")
    assert shown.exit_code == 7
    (path,) = (tmp_path / "deploy" / "bundles").iterdir()
    with tarfile.open(path) as packed:
        names = {"/".join(Path(name).parts[1:]) for name in packed.getnames()}
    assert names == {
        f"{host}/{name}" for host in ("alpha", "beta") for name in ("vllm.log", "diagnosis.json")
    }


def test_logs_of_two_engines_are_not_of_one_launch(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(log(named("mla-fp8kv-kimi-k25-tp8")))
    (tmp_path / "b.log").write_bytes(DIES)
    refused = run(str(tmp_path)).exception
    assert isinstance(refused, UsageError)
    assert refused.code == "not_one_launch"
