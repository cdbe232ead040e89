"""A kind of launch that has nothing of nohup's: a small runner that holds the engine in another session than its own.

It is asked to end the engine by a pipe, keeps the log and the exit status in folders of their own, and names engine and
runner in a file. `test_second_kind.py` takes it through the programs.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Collection, Set
from pathlib import Path
from typing import Any

from orchestrator.on_host.files import regular_file
from orchestrator.on_host.kinds.kind import EngineCommand, ExitRecord, Launch, Table
from orchestrator.on_host.processes import procs
from tests.waiting import eventually

RUNNER = """
import os, signal, subprocess, sys, threading
folder, log, *argv = sys.argv[1:]
def listen():
    with open(folder + "/control") as control:
        for line in control:
            engine.terminate()
with open(log, "ab") as output:
    engine = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
with open(folder + "/engine.new", "w") as file:
    file.write(str(engine.pid))
os.rename(folder + "/engine.new", folder + "/engine")
threading.Thread(target=listen, daemon=True).start()
code = engine.wait()
with open(folder + "/end/code.new", "w") as file:
    file.write(str(code))
os.rename(folder + "/end/code.new", folder + "/end/code")
os._exit(0)
"""


class Runner:
    name = "runner"
    description = "by a runner"

    def log(self, folder: Path, name: str) -> Path:
        return folder / "out" / name

    def start(self, command: EngineCommand, folder: Path, log: Path) -> dict[str, Any]:
        for place in (log.parent, folder / "end"):
            place.mkdir()
        os.mkfifo(folder / "control")
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", RUNNER, str(folder), str(log), *command.argv],
            cwd=command.folder,
            env={**command.inherited, **command.own},
            start_new_session=True,
        )
        threading.Thread(target=child.wait, daemon=True).start()
        eventually((folder / "engine").exists)
        runner, engine = procs.process(child.pid), procs.process(int((folder / "engine").read_text()))
        assert runner is not None
        identity = {"engine": [engine.pid, engine.start_time]} if engine else {}
        return {"pid": runner.pid, "start_time": runner.start_time, **identity}

    def held(self, launch: Launch, at: Table, ours: Set[int]) -> Set[int]:
        """The engine's session; without the engine, where one of it is ours already."""
        pid, start_time = launch.record.get("engine") or (None, None)
        session = {process.pid for process in at.living.values() if process.session == pid}
        leader = at.processes.get(pid)
        return session if (leader.start_time == start_time if leader else session & ours) else set()

    def end(self, launch: Launch) -> ExitRecord | None:
        record = launch.folder / "end" / "code"
        with contextlib.suppress(OSError, regular_file.Unfit, ValueError):
            code = int(regular_file.read(record, 10))
            return ExitRecord(128 - code if code < 0 else code, record.stat().st_mtime)
        return None

    def terminate(self, launch: Launch, heads: Collection[procs.Process]) -> None:
        try:
            control = os.open(launch.folder / "control", os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # nobody listens any more
            for process in heads:
                procs.send(process, signal.SIGTERM)
        else:
            with open(control, "w") as pipe:
                pipe.write("end\n")

    def kill(self, launch: Launch, members: Collection[procs.Process]) -> Set[int]:
        return {process.pid for process in members if procs.send(process, signal.SIGKILL)}


KIND = Runner()
