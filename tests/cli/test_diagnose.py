"""`deploy diagnose`: formats, exit codes, and files that are none."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from click.testing import CliRunner, Result

from orchestrator.base import log_file
from orchestrator.base.errors import UsageError
from orchestrator.cli.diagnose import diagnose
from tests.diagnosis.labels import log as log_of
from tests.diagnosis.labels import named
from tests.diagnosis.test_sglang import DIES, START


def run(*args: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(diagnose, args, input=stdin)


@pytest.mark.parametrize(
    ("case", "code", "more"),
    [
        ("mla-fp8kv-kimi-k25-tp8", 6, ()),
        ("unknown-stripe-parity-tp4", 7, ()),
        ("hang-after-nccl-version", 8, ("--idle-seconds", "900")),
        ("hang-after-nccl-version", 0, ("--idle-seconds", "90")),
        ("healthy-idle-one-hour", 0, ("--idle-seconds", "3600")),
    ],
)
def test_exit_codes(case: str, code: int, more: tuple[str, ...]) -> None:
    path = str(named(case).path)
    assert run(path, *more).exit_code == code
    printed = run(path, "--json", *more)
    assert printed.exit_code == code
    assert len(printed.stdout.splitlines()) == 1


def test_json_from_standard_input() -> None:
    log = log_of(named("mla-fp8kv-flag-dsv2lite"))
    found = json.loads(run("-", "--json", stdin=log).stdout)
    assert found["remedy"]["actions"] == [{"kind": "flag", "name": "--kv-cache-dtype", "op": "remove"}]


def test_what_carried_a_log_changes_nothing_but_the_bytes() -> None:
    log = log_of(named("mla-fp8kv-kimi-k25-tp8"))
    quoted = b"".join(b"> " + line for line in log.splitlines(keepends=True))
    assert run("-", "--json", stdin=quoted).stdout == run("-", "--json", stdin=log).stdout


def test_without_hyperscan_the_same_is_found() -> None:
    path = str(named("mla-fp8kv-kimi-k25-tp8").path)
    program = "import sys; sys.modules['hyperscan'] = None; from orchestrator.cli.main import run; sys.exit(run(sys.argv[1:]))"
    command = [sys.executable, "-c", program, "diagnose", path, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (6, run(path, "--json").stdout)


def test_the_text_says_what_why_where_and_what_mends_it_within_80_columns() -> None:
    shown = run(str(named("mla-fp8kv-kimi-k25-tp8").path)).stdout
    # the path of the log is one word, however long the folder's is
    assert all(len(line) <= 80 or " " not in line.strip() for line in shown.splitlines())
    words = " ".join(shown.split())
    for part in (
        "No valid attention backend",
        "mla-fp8kv-kimi-k25-tp8.log:98",
        "same in 7 more",
        "fp8-kv-mla",
        "kv_cache_scheme",
        "twice the bytes",
    ):
        assert part in words


def test_an_unknown_fault_proposes_nothing() -> None:
    shown = run(str(named("unknown-stripe-parity-tp4").path)).stdout
    assert "StripeParityError" in shown
    assert "remedy  " not in shown


@pytest.mark.parametrize("name", ["none.log", "."])
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    result = run(str(tmp_path / name))
    assert isinstance(result.exception, UsageError)
    assert result.exception.code == "unreadable_log"
    assert str(tmp_path) in result.exception.message


def test_a_patch_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "parity.yaml").write_text(
        "id: parity\ntitle: Stripes\ncategory: checkpoint_corrupt\nmatch: [{exception: StripeParityError}]\n"
        "advice: ask the vendor\n"
    )
    path = str(named("unknown-stripe-parity-tp4").path)
    found = json.loads(run(path, "--json", "--patches", str(tmp_path)).stdout)
    assert (found["verdict"], found["finding"]["patch"]) == ("fault", "parity")
    assert found["remedy"] == {"automatic": False, "actions": [], "advice": ["ask the vendor"]}


def test_following_speaks_whenever_the_answer_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_of(named("mla-fp8kv-kimi-k25-tp8"))
    half = log.index(b"\n", len(log) // 4) + 1
    passed = [(log[:half], 0.0), (b"", 5.0), (log[half:], 0.0), (b"", 1.0)]
    monkeypatch.setattr(log_file, "follow", lambda file: iter(passed))
    result = run("-", "--follow", "--json")
    assert [json.loads(line)["verdict"] for line in result.stdout.splitlines()] == ["fault"]
    assert result.exit_code == 6


def test_what_ends_inside_a_traceback_is_told_once_nothing_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_of(named("mla-fp8kv-kimi-k25-tp8"))
    half = log.index(b"\n", len(log) // 4) + 1
    monkeypatch.setattr(log_file, "follow", lambda file: iter([(log[:half], 0.0), (b"", 5.0)]))
    result = run("-", "--follow", "--json")
    assert [json.loads(line)["verdict"] for line in result.stdout.splitlines()] == ["unknown_fault"]
    assert result.exit_code == 7


def test_following_says_that_it_hangs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_of(named("hang-after-nccl-version"))
    passed = [(log, 0.0), *((b"", float(idle)) for idle in (10, 590, 700, 800))]
    monkeypatch.setattr(log_file, "follow", lambda file: iter(passed))
    result = run("x.log", "--follow", "--json")
    assert [json.loads(line)["verdict"] for line in result.stdout.splitlines()] == ["hang"]
    assert result.exit_code == 8


def test_an_interrupt_ends_following_with_the_answer_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(file: str) -> Iterator[tuple[bytes, float]]:
        yield log_of(named("healthy-idle-one-hour")), 0.0
        raise KeyboardInterrupt

    monkeypatch.setattr(log_file, "follow", interrupted)
    result = run("x.log", "-f")
    assert "healthy" in result.stdout
    assert result.exit_code == 0


def test_a_bundle_is_for_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    log = tmp_path / "vllm.log"
    log.write_bytes(log_of(named("unknown-stripe-parity-tp4")) + b"api_key='geheim-1234'\n")
    said = run(str(log), "--bundle")
    (bundle,) = (tmp_path / "deploy" / "bundles").glob("*.tar.gz")
    assert bundle.name in said.stderr
    with tarfile.open(bundle) as packed:
        contents = {Path(member.name).name: packed.extractfile(member) for member in packed}
        assert set(contents) == {"vllm.log", "diagnosis.json"}
        text = contents["vllm.log"]
        assert text is not None
        assert b"geheim" not in text.read()


def test_standard_input_cannot_be_packed() -> None:
    result = run("-", "--bundle", stdin=b"")
    assert isinstance(result.exception, UsageError)
    assert result.exception.code == "no_log_to_pack"


def test_a_file_that_is_no_log_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("hi\n")
    error = run(str(tmp_path / "notes")).exception
    assert isinstance(error, UsageError)
    assert (error.code, error.exit_code) == ("no_engine_log", 2)
    assert "looks like text of another kind: no line of it is an engine's" in error.message
    error = run("-", stdin=b"").exception
    assert isinstance(error, UsageError) and error.message.startswith("standard input is empty: ")
    assert run(str(named("hang-after-nccl-version").path), "--idle-seconds", "90").stderr == ""


@pytest.mark.parametrize("options", [(), ("--engine", "sglang"), ("--follow",)])
def test_a_log_of_another_engine_is_diagnosed_by_itself(tmp_path: Path, options: tuple[str, ...]) -> None:
    log = START + DIES
    (tmp_path / "x.log").write_bytes(log)
    file = "-" if "--follow" in options else str(tmp_path / "x.log")
    with patch.object(log_file, "follow", lambda file: iter([(b"", 1.0), (log, 0.0)])):
        left = CliRunner().invoke(diagnose, [file, "--json", *options])
    root = json.loads(left.stdout)["root_cause"]
    assert (root["process"], root["exception"]) == ("TP1", "RuntimeError")
    assert "Not enough memory" in root["text"]


def test_a_bundle_names_the_log_as_it_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "x.log").write_bytes(START + DIES)
    left = CliRunner().invoke(diagnose, ["x.log", "--bundle"])
    (bundle,) = re.findall(r"bundle  (.+)", left.output)
    with tarfile.open(bundle) as packed:
        assert [name.rpartition("/")[2] for name in packed.getnames() if name.endswith(".log")] == [
            "sglang.log"
        ]


@pytest.mark.parametrize(
    ("options", "version", "warned"),
    [
        (("--vllm-version", "0.16.0"), None, True),
        (("--engine-version", "0.5.9"), "0.5.9", False),
        ((), None, False),
    ],
)
def test_a_version_of_vllm_says_nothing_of_another_engines_log(
    tmp_path: Path, options: tuple[str, ...], version: str | None, warned: bool
) -> None:
    (tmp_path / "x.log").write_bytes(START + DIES)
    left = run(str(tmp_path / "x.log"), "--json", *options)
    assert json.loads(left.stdout)["engine"] == {"kind": "sglang", "version": version}
    assert ("is a log of SGLang" in " ".join(left.stderr.split())) is warned


def test_of_a_log_with_its_newest_line_first_the_answer_is_the_same_and_lines_are_the_files(
    tmp_path: Path,
) -> None:
    log = log_of(named("mla-fp8kv-kimi-k25-tp8"))
    lines = log.splitlines()
    file = tmp_path / "from-the-store.log"
    file.write_bytes(b"\n".join(b"llm-1  | " + line for line in reversed(lines)) + b"\n")
    turned, bare = run(str(file), "--json"), json.loads(run("-", "--json", stdin=log).stdout)
    found = json.loads(turned.stdout)
    assert "has its newest line first: it is read from its end" in " ".join(turned.stderr.split())
    assert (found["finding"], found["remedy"]) == (bare["finding"], bare["remedy"])
    assert found["root_cause"]["line"] == len(lines) + 1 - bare["root_cause"]["line"]
