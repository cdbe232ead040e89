"""A state folder, a /dev/shm and stand-in engines of a test's own."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import pytest

from orchestrator.engines.vllm.footprint import FOOTPRINT
from orchestrator.on_host.footprint import SharedNames
from orchestrator.on_host.kinds import launches
from orchestrator.on_host.kinds.kind import Launch
from orchestrator.on_host.processes import makers, procs
from orchestrator.on_host.programs import launch, stop
from orchestrator.on_host.removing import shared_memory
from tests.programs.requests import PROGRAMS, read_too
from tests.waiting import eventually

OF_VLLM: dict[str, Any] = {"log_name": "vllm.log", "footprint": asdict(FOOTPRINT)}
"""What a launch is told of its engine."""
STAND_IN = Path(__file__).with_name("stand_in.py")


def stand_in(**options: Any) -> list[str]:
    return [sys.executable, "-I", "-S", str(STAND_IN), json.dumps(options)]


@pytest.fixture(autouse=True)
def answers_are_what_the_controller_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a test has a program answer, the program's model has to take."""
    for name in PROGRAMS:
        program = importlib.import_module(f"orchestrator.on_host.programs.{name}")
        monkeypatch.setattr(program, "main", read_too(name, program.main))


@pytest.fixture
def shm(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder inside the real /dev/shm that the code under test takes for all of it.

    Who else of this user may have made a file in it is asked of the test's own children alone.
    """
    folder = Path(tempfile.mkdtemp(dir="/dev/shm", prefix="test-"))
    monkeypatch.setattr(shared_memory, "FOLDER", str(folder))
    everybody = makers.living

    def children(uid: int, where: str, known: Sequence[SharedNames]) -> list[makers.Maker]:
        table = procs.processes()
        return [
            process
            for process in everybody(uid, where, known)
            if os.getpid() in procs.lineage(process.pid, table)
        ]

    monkeypatch.setattr(makers, "living", children)
    yield folder
    shutil.rmtree(folder)


class Deployments:
    """Launches of stand-in engines whose state lies in a test's own folder."""

    def __init__(self, state: Path) -> None:
        self.state = state

    def launch(self, argv: list[str], *, playbook: str = "tiny", **more: Any) -> Launch:
        identity = f"{playbook}-{uuid.uuid4()}"  # tests that run side by side see each other's processes
        request = {
            "instance": playbook,
            "kind": "nohup",
            "launch_id": identity,
            "argv": argv,
            **OF_VLLM,
            **more,
        }
        answer = launch.main(request)
        started = launches.load(self.folder(playbook), answer["launch"])
        assert started is not None
        return started

    def folder(self, playbook: str = "tiny") -> Path:
        return self.state / "deploy" / playbook

    def stop(self, *, playbook: str = "tiny", **more: Any) -> Any:
        limits = {"grace_seconds": 30, "kill_seconds": 30, "remove_shm": True, "wait_gpu_seconds": 0}
        request = {"instance": playbook, "launch": None, "footprint": OF_VLLM["footprint"]}
        return stop.main({**request, **limits, **more})


def ready(of: Launch, workers: int = 0) -> dict[str, int]:
    """The pids that a stand-in engine printed, once all of it is there: {"server": ..., "worker 0": ...}."""

    def printed() -> dict[str, int] | None:
        lines = re.findall(r"^(server|worker \d+) (\d+)$", of.log.read_text(), re.MULTILINE)
        return {name: int(pid) for name, pid in lines} if len(lines) == workers + 1 else None

    return eventually(printed)


@pytest.fixture
def deployments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shm: Path) -> Iterator[Deployments]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # no nvidia-smi of this machine
    monkeypatch.delenv("DEPLOY_LAUNCH", raising=False)
    yield Deployments(tmp_path)
    for state in (tmp_path / "deploy").glob("*"):
        for each in launches.launches(state):
            for member in launches.members(each, launches.table()):
                procs.send(member, signal.SIGKILL)


@pytest.fixture
def bystander(shm: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts stand-ins that are not ours, and waits until they are there."""
    started: list[subprocess.Popen[bytes]] = []

    def start(**options: Any) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(stand_in(**options), stdout=subprocess.PIPE, start_new_session=True)
        started.append(process)
        assert process.stdout is not None
        for _ in range(options.get("workers", 0) + 1):
            process.stdout.readline()
        return process

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@pytest.fixture
def controller(monkeypatch: pytest.MonkeyPatch) -> Iterator[IO[bytes]]:
    """The controller's end of standard input; closing it is how the controller leaves."""
    inner, outer = os.pipe()
    with os.fdopen(inner, "rb") as reader, os.fdopen(outer, "wb", buffering=0) as writer:
        monkeypatch.setattr(sys, "stdin", reader)
        yield writer


def until(values: Iterator[dict[str, Any]], key: str) -> dict[str, Any]:
    return next(value for value in values if key in value)
