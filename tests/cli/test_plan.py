"""A plan leaves as the run would: what forbids the one is the end of the other."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.cli.main import run
from orchestrator.on_host.state.state import append, state_folder
from tests import stand_in
from tests.cli.imported import imported

ENGINE = "/nowhere/bin/python3"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What names an engine that is there."""
    engine = stand_in.make(tmp_path_factory.mktemp("env") / "vllm-0.16.0")
    return ["--set", f"engine.python={engine.python}"]


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A playbook whose engine is not on this machine."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    content = {
        "model": {"repository": "deploy-tests/nothing", "served_name": "nothing"},
        "checkpoint": {"folder": str(tmp_path / "checkpoint")},
        "engine": {"python": ENGINE},
        "parallel": {"tensor": 1},
        "context": 256,
        "needs": {"gpus": 0},
    }
    path = tmp_path / "nothing.yaml"
    path.write_text(json.dumps(content))
    return [str(path), "--host", "local"]


@pytest.mark.parametrize("verb", [["plan"], ["up", "--dry-run"], ["restart", "--dry-run"], ["up"]])
def test_a_plan_that_is_refused_leaves_as_the_run_and_says_what_to_type(
    verb: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*verb, *words]) == 4
    said = " ".join(capsys.readouterr().err.split())
    assert ENGINE in said
    assert "--set engine.install=vllm" in said


@pytest.mark.parametrize("verb", [["plan"], ["up", "--dry-run"]])
def test_as_data_it_is_one_object_with_what_to_type_in_it(
    verb: list[str], words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = [*verb, *words, "--json"]
    monkeypatch.setattr("sys.argv", ["deploy", *typed])
    assert run(typed) == 4
    *_, last = capsys.readouterr().out.splitlines()
    plan = json.loads(last)
    (refusal,) = plan["refusals"]
    assert refusal["code"] == "no_engine"
    assert refusal["next"].startswith(f"deploy {' '.join(verb)} ")
    assert refusal["next"].partition(" --set engine.install=vllm")[1]
    assert [step["name"] for step in plan["steps"]] == [
        "download", "verify", "patch", "launch", "watch", "smoke"
    ]  # fmt: skip


def test_a_consent_that_nobody_can_be_asked_for_is_what_stops_it(
    words: list[str], installed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [*installed, "--set", "listen=0.0.0.0"]
    assert run(["plan", *words, *asked]) == 4
    assert "--consent listen-openly" in capsys.readouterr().err
    assert run(["plan", *words, *asked, "--consent", "listen-openly"]) == 0


def test_it_is_told_without_what_carries_it_out(words: list[str]) -> None:
    """Nor does a server that answers need any of it, which is asked for a completion by a step of the same list."""
    assert run(["plan", *words]) == 4  # from here on the catalogue has been read
    loaded = imported(["plan", *words], code=4)
    assert {"orchestrator.steps.course", "orchestrator.steps.confirm"} <= loaded
    doing = {
        "orchestrator.diagnosis",
        "orchestrator.download",
        "orchestrator.engines.log_grammar",
        "orchestrator.launch.attempt",
        "orchestrator.remedy.apply",
    }
    assert not loaded & (doing | {"paramiko", "fabric", "rich", "hyperscan", "tarfile"})


REFUSED = {
    "no_engine": (["--set", f"engine.python={ENGINE}", "--vllm-version", "0.16.0"], 4),
    "engine_version": (["--set", "engine.version=>=0.17"], 4),
    "gpus_unknown": (["--set", "needs.gpus=8"], 4),
    "port_taken": ([], 4),
    "consent_missing": (["--set", "listen=0.0.0.0"], 4),
    "name_taken": (["--name", "others"], 4),
    "attempts_spent": (["--max-attempts", "1", "--name", "spent"], 8),
}


@pytest.fixture
def journals(tmp_path: Path, words: list[str]) -> None:
    """A launch of another playbook under one name, and one of ours that failed under another."""
    started = {"action": "launch", "launch": 1, "playbook": "nothing"}
    failed = {"action": "outcome", "launch": 1, "result": "failed", "cause": "x", "finding": None}
    for name, records in {"others": [{**started, "playbook": "tiny"}], "spent": [started, failed]}.items():
        for record in records:
            append(state_folder(name), record)


@pytest.fixture
def port() -> Iterator[int]:
    """One on which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield taken.getsockname()[1]


@pytest.mark.usefixtures("journals")
@pytest.mark.parametrize("code", REFUSED)
def test_plan_dry_run_and_run_agree_in_what_stops_them(
    code: str,
    port: int,
    words: list[str],
    installed: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In the code, the exit status, and the command that is to be typed then."""
    more, exit_code = REFUSED[code]
    listening = ["--set", f"port={port}"] if code == "port_taken" else []

    def error(*verb: str) -> dict[str, str]:
        typed = [*verb, *words, *installed, *more, *listening, "--json"]
        monkeypatch.setattr("sys.argv", ["deploy", *typed])
        assert run(typed) == exit_code
        *_, last = capsys.readouterr().out.splitlines()
        error: dict[str, str] = json.loads(last)["error"]
        if error["next"]:
            error["next"] = error["next"].replace(f"deploy {' '.join(verb)} ", "deploy VERB ")
        return error

    stopped = error("up")
    assert stopped["code"] == code
    assert error("plan") == error("up", "--dry-run") == stopped
