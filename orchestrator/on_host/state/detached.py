"""How does work on the host go on by itself, one at a time, and how is it followed?

`start` leaves a process in a session of its own that outlives the connection; it is a fork of this one, so no program text
and no token is ever in a file or in argv. Who is at work holds `lock` of its folder and tells how far it is in
`progress.jsonl`.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from orchestrator.on_host.files import regular_file
from orchestrator.on_host.files.sole_writer import locked
from orchestrator.on_host.processes import procs
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.secrets import secrets
from orchestrator.on_host.state import state

_PATIENCE_SECONDS = 0.3
_READY_SECONDS = 30.0
_TAIL = 64 << 10  # bytes of progress in which the last line is looked for

Tell = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Errand:
    """What is to be done: its `name`, the folder (`room`) that is its own, and what is noted in the lock while it is done.

    `carry_out` is given what appends a line of progress, and gives the last one: with "error" where it failed.
    """

    name: str
    room: Path
    note: dict[str, Any]
    carry_out: Callable[[Tell], dict[str, Any]]


def status(room: Path) -> dict[str, Any]:
    """How it stands: {state, holder, last, room}; state is "started", "running" (it was so already), "done",
    "failed", "stopped" (ended without a word) or "none"; `last` is the last line of progress."""
    with os.fdopen(state.opened(room / "lock", os.O_RDWR), "r+b") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _answer("running", room, _last_line(room / "progress.jsonl"))
    last = _last_line(room / "progress.jsonl")  # after the lock: its holder's last word is written by now
    if last is None:
        return _answer("none", room, last)
    return _answer("done" if last.get("done") else "failed" if "error" in last else "stopped", room, last)


def _answer(word: str, room: Path, last: dict[str, Any] | None) -> dict[str, Any]:
    return {"state": word, "holder": state.read_json(room / "lock"), "last": last, "room": str(room)}


def start(errand: Errand) -> dict[str, Any]:
    """Fork it off and wait until it holds the lock, or says that another one does; answers as `status` does.

    Raises Refusal("not_started") where it does not come as far.
    """
    reading, writing = os.pipe()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _detached(errand, writing)
    os.close(writing)
    with open(reading, "rb") as answers:
        ready, _, _ = select.select([answers], [], [], _READY_SECONDS)
        line = answers.readline() if ready else b""
    if not line:
        log = errand.room / f"{errand.name}.log"
        raise Refusal("not_started", f"the {errand.name} did not start; see {log}")
    answer: dict[str, Any] = json.loads(line)
    return answer


def _detached(errand: Errand, writing: int) -> None:
    """Become a process that nothing of the connection can end, run, and never return."""
    try:
        os.setsid()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.chdir("/")
        log = state.opened(errand.room / f"{errand.name}.log", os.O_WRONLY | os.O_APPEND)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for target, source in ((0, nothing), (1, log), (2, log)):
            os.dup2(source, target)
        for name in os.listdir("/proc/self/fd"):  # what the connection's shell may have left open
            if int(name) > 2 and int(name) != writing:
                with contextlib.suppress(OSError):
                    os.close(int(name))
        sys.stdout = sys.stderr = Hiding(os.fdopen(2, "w", buffering=1, closefd=False))

        def tell(value: dict[str, Any]) -> None:
            os.write(writing, (json.dumps(value) + "\n").encode())
            os.close(writing)

        run(errand, tell)
    except BaseException:
        with contextlib.suppress(Exception):
            traceback.print_exc()
    finally:
        os._exit(0)


class Hiding(io.TextIOBase):
    """A log in which libraries may print what they like: its lines are written without secrets."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._begun = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        if lines:
            self._out.write(secrets.redact("\n".join(lines)) + "\n")
        return len(text)

    def flush(self) -> None:
        self._out.flush()


def run(errand: Errand, tell: Tell = lambda _: None) -> dict[str, Any]:
    """Carry it out here; `tell` is given the answer once it is known whether it was begun."""
    room = errand.room
    path = room / "progress.jsonl"
    descriptor = state.opened(room / "lock", os.O_RDWR)
    try:
        if not locked(descriptor, patience_seconds=_PATIENCE_SECONDS):
            answer = _answer("running", room, _last_line(path))
            tell(answer)
            return answer
        _note(descriptor, errand.note)
        _write(path, None)
        tell(_answer("started", room, None))
        last = errand.carry_out(lambda value: _write(path, value))
        _write(path, last)
        return _answer("failed" if "error" in last else "done", room, last)
    finally:
        os.close(descriptor)


def _write(path: Path, value: dict[str, Any] | None) -> None:
    """Append a line of progress, or begin the file anew; on a full disk the older lines make room."""
    line = b"" if value is None else (json.dumps(secrets.redacted(value)) + "\n").encode()
    begin = os.O_TRUNC if value is None else 0
    descriptor = state.opened(path, os.O_WRONLY | os.O_APPEND | begin)
    try:
        os.write(descriptor, line)
    except OSError:
        os.ftruncate(descriptor, 0)
        with contextlib.suppress(OSError):
            os.write(descriptor, line)
    finally:
        os.close(descriptor)


def _note(descriptor: int, note: dict[str, Any]) -> None:
    me = procs.process(os.getpid())
    whole = {
        "pid": os.getpid(),
        "start_time": me.start_time if me else None,
        "boot": state.boot_id(),
        "machine": state.machine_id(),
        "since": state.now(),
        **note,
    }
    text = (json.dumps(whole) + "\n").encode()
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, text, 0)


def _last_line(path: Path) -> dict[str, Any] | None:
    """The newest line that is whole; {} where there is none yet, None without a file."""
    try:
        with regular_file.opened(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            lines = file.read(2 * _TAIL).splitlines()
    except (regular_file.Unfit, OSError):
        return None
    for line in reversed(lines):
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(line)
            if isinstance(value, dict):
                return value
    return {}
