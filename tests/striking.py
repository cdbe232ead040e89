"""How does a test end a `deploy` process at one exact moment of its work, from its own side or from its host's?

A process stops itself (SIGSTOP) as soon as it has told a moment; nothing of it moves until the test has struck. A
program on the host stops itself at an audit event (a file opened, one renamed, a process about to be started).
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests import stand_in
from tests.deployments import Case
from tests.waiting import PATIENCE_SECONDS, eventually

Way = Literal["kill", "closed", "interrupt"]
WAYS: tuple[Way, ...] = ("kill", "closed", "interrupt")

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    ["tests.striking", "orchestrator.loop.deployment", "orchestrator.hosts.connect"]
)


@dataclass(frozen=True)
class Told:
    """The moment right after an event of `step` was told: it began, said how far it is, or ended."""

    step: str
    what: Literal["started", "progress", "ended"]
    time: int = 1
    """The first such event, or a later one."""


@dataclass(frozen=True)
class Reached:
    """The moment right before `program` on the host does something (an audit event whose arguments have `text`)."""

    program: str
    event: str
    text: str
    time: int = 1


def state(pid: int) -> str:
    """R, S, T (stopped), Z, ... of a process; "" once it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


class Run:
    """A `deploy` command of a case as a process of its own, which stops itself at each of `moments` in turn."""

    def __init__(self, case: Case, number: int, *words: str, moments: Sequence[Told] = ()) -> None:
        self._case = case
        self._out = case.home.parent / f"run-{number}"
        arguments = case.deploy.argv(*words, "--json")[3:]
        given = (arguments, case.deploy.whole_environment, str(self._out), tuple(moments))
        self._process = _FORKS.Process(target=_deploy, args=given)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def stopped(self) -> bool:
        """Whether it stands at one of its moments; it must not have ended instead."""
        return self.lives() and state(self.pid) == "T"

    def lives(self) -> bool:
        assert self._process.is_alive(), self.text[-3000:]
        return True

    def go_on(self) -> None:
        with contextlib.suppress(ProcessLookupError):  # it may have ended by what was done to it
            os.kill(self.pid, signal.SIGCONT)

    def strike(self, way: Way) -> None:
        """End it: by KILL, by the end of its connection, or by Ctrl-C."""
        if way == "kill":
            os.kill(self.pid, signal.SIGKILL)
        elif way == "closed":
            close_connections(self._case)
            self.go_on()
        else:
            os.kill(self.pid, signal.SIGINT)
            self.go_on()

    def end(self) -> int:
        """Its exit code; minus the signal that ended it."""
        self._process.join(PATIENCE_SECONDS)
        assert self._process.exitcode is not None, self.text[-3000:]
        return self._process.exitcode

    def close(self) -> None:
        if self._process.is_alive():
            self._process.kill()
        self._process.join()
        self._process.close()

    @property
    def text(self) -> str:
        return self._out.read_text(errors="replace") if self._out.exists() else ""

    def of(self, event: str) -> list[dict[str, Any]]:
        whole, _, _ = self.text.rpartition("\n")  # the last line may be on its way
        events = [json.loads(line) for line in whole.splitlines() if line.startswith("{")]
        return [record for record in events if record["event"] == event]


def close_connections(case: Case) -> None:
    """End every connection at the host's end, as when it drops them; what runs there is left alone."""
    for pid in case.server.session_pids():
        with contextlib.suppress(ProcessLookupError):  # the end of one may be the end of another
            os.kill(pid, signal.SIGKILL)
    eventually(lambda: not case.server.session_pids())


def _deploy(arguments: list[str], environment: dict[str, str], out: str, moments: tuple[Told, ...]) -> None:
    """In the process: be the command."""
    from orchestrator.cli.main import run
    from orchestrator.report import json_lines

    os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    output = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.argv = ["deploy", *arguments]
    left = list(moments)
    show = json_lines.JsonLines.show
    times: dict[tuple[str, str], int] = {}

    def showing(self: Any, event: Any) -> None:
        show(self, event)
        if event.kind not in ("step", "wait", "progress"):
            return
        began = event.data.get("state") == "started"
        what = "progress" if event.kind == "progress" else "started" if began else "ended"
        times[event.step, what] = times.get((event.step, what), 0) + 1
        next_one = left[0] if left else None
        if next_one == Told(event.step, what, times[event.step, what]):  # type: ignore[arg-type]
            left.pop(0)
            os.kill(os.getpid(), signal.SIGSTOP)

    json_lines.JsonLines.show = showing  # type: ignore[method-assign]
    sys.exit(run(arguments))


_HOOK = r"""
def _pausing(asked, paused):
    import os, signal, sys
    busy, seen = [], [0]
    def hook(event, args):
        if event not in ("open", "os.rename", "os.truncate", "subprocess.Popen", "socket.connect"):
            return
        if busy or not os.path.exists(asked):
            return
        busy.append(True)
        try:
            with open(asked) as file:
                program, wanted, text, time = file.read().split("\n")
            if (event != wanted or text not in repr(args[:2])
                    or "orchestrator.on_host.programs." + program not in sys.modules):
                return
            seen[0] += 1
            if seen[0] < int(time):
                return
            os.rename(asked, paused + ".new")
            with open(paused + ".new", "w") as file:
                file.write(str(os.getpid()))
            os.rename(paused + ".new", paused)
            os.kill(os.getpid(), signal.SIGSTOP)
        except OSError:
            pass
        finally:
            busy.clear()
    sys.addaudithook(hook)
"""


class Pauses:
    """Makes programs on a host stop at a moment; they are started by the `python3` of the stand-in's tools."""

    def __init__(self, engine: stand_in.StandIn) -> None:
        self._asked = engine.folder / "pause-asked"
        self._paused = engine.folder / "paused"
        python = engine.folder / "tools" / "python3"
        base = python.readlink()
        python.unlink()
        hook = f"{_HOOK}_pausing({str(self._asked)!r}, {str(self._paused)!r})\n"
        python.write_text(
            f'#!/bin/sh\n[ "$5" = -c ] || exec {base} "$@"\n'
            f'exec {base} "$1" "$2" "$3" "$4" -c {shlex.quote(hook)}"$6"\n'
        )
        python.chmod(0o755)

    def ask(self, moment: Reached) -> None:
        """The next program that comes to this moment stops there."""
        new = self._asked.with_suffix(".new")
        new.write_text(f"{moment.program}\n{moment.event}\n{moment.text}\n{moment.time}")
        new.rename(self._asked)

    def pid(self) -> int | None:
        """The program that stands at its moment."""
        if not self._paused.exists():
            return None
        pid = int(self._paused.read_text())
        return pid if state(pid) == "T" else None

    def clear(self) -> None:
        """Nothing is asked for, and whatever stands still goes on."""
        pid = self.pid()
        for path in (self._asked, self._paused):
            path.unlink(missing_ok=True)
        if pid is not None:
            os.kill(pid, signal.SIGCONT)
