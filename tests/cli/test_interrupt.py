"""Ctrl-C at a terminal: it leaves with 130, what is under way on the host goes on, the next run resumes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.deployments import REPOSITORY, Case
from tests.pseudo_terminal import OnTerminal
from tests.waiting import PATIENCE_SECONDS, eventually

STARVED_SECONDS = 2.0
"""How long this process or the command may get no processor beside an sshd, an engine and another test worker; the
strict bound is tests/report/test_silence.py's, which knows how long that was."""


@contextmanager
def run(case: Case) -> Iterator[OnTerminal]:
    argv = case.deploy.argv("PLAYBOOK")
    with OnTerminal(argv, {**case.deploy.whole_environment, "NO_COLOR": "1"}) as command:
        yield command


def interrupt(command: OnTerminal) -> None:
    command.press(b"\x03")
    assert command.end() == 130, command.text
    assert "interrupted; what was launched goes on, and the same command resumes" in " ".join(
        command.text.split()
    )
    assert "Traceback" not in command.text
    assert command.computed_before_first_word < 2.0
    assert command.longest_silence() < 2.0 + STARVED_SECONDS


def resumed(case: Case) -> None:
    left = case.deploy("PLAYBOOK", "--json")
    assert left.code == 0, left.out + left.err
    assert [one["healthy"] for one in left.of("result")] == [True]
    assert case.actions().count("launch") == 1


def status(case: Case) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(case.deploy("status", "PLAYBOOK", "--json").out)
    return found


def test_during_the_download(case: Case) -> None:
    shard = sorted(path.name for path in (case.hub.repositories / REPOSITORY).glob("*.safetensors"))[3]
    case.hub.hold = {shard: threading.Event()}
    with run(case) as command:
        assert case.hub.held.wait(PATIENCE_SECONDS)
        command.wait_for("12 files, ")  # it is being counted
        interrupt(command)
    case.hub.hold[shard].set()
    eventually(lambda: (case.checkpoint / shard).exists())  # nobody is connected, and it goes on
    resumed(case)
    sent = [one for one in case.hub.requests if one.file == shard and one.method == "GET" and one.sent]
    assert len(sent) == 1


def test_during_the_launch(case: Case) -> None:
    with run(case) as command:
        eventually(lambda: (case.state / "launches/1/process.json").exists())
        command.wait_for("launch 1")
        interrupt(command)
    assert status(case)["members"]
    resumed(case)


def test_during_the_first_completion(case: Case) -> None:
    """The engine's core is stopped, so that the completion hangs while /health goes on to answer."""
    with run(case) as command:
        eventually(lambda: b"startup complete" in log(case))
        core = engine_core(case)
        os.kill(core, signal.SIGSTOP)
        command.wait_for("one real completion")
        interrupt(command)
    os.kill(core, signal.SIGCONT)
    assert status(case)["health"] == 200
    resumed(case)


def log(case: Case) -> bytes:
    try:
        return (case.state / "launches/1/vllm.log").read_bytes()
    except FileNotFoundError:
        return b""


def engine_core(case: Case) -> int:
    """The pid of the launch's EngineCore."""
    session = json.loads((case.state / "launches/1/process.json").read_text())["session"]
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, _, rest = path.read_text().partition("(")[2].rpartition(")")
            if name == "VLLM::EngineCor" and int(rest.split()[3]) == session:
                return int(path.parent.name)
    raise AssertionError("there is no EngineCore")
