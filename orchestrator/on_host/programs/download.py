"""How does a checkpoint download go on by itself on the host, one at a time, and how is it followed?

It runs where huggingface_hub can be imported: by the engine's own Python. `start` leaves a process in a
session of its own that outlives the connection; it is a fork of this one, so no program text and no
token is ever in a file or in argv. What it does is told in STATE/download/progress.jsonl.
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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

from orchestrator.on_host.checkpoint import hub_errors, hub_fetch
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


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Start a download, say how it stands, or carry it out here.

    request: action "start" | "status" | "run", instance, and for all but status: repository, revision,
    folder, ignore (patterns), endpoint, token, token_consent, keep (files whose local bytes are ours),
    foreign_folder (the consent to write where another user owns the folder).

    Answers {state, holder, last, room}: state is "started", "running" (it was so already), "done",
    "failed", "stopped" (ended without a word) or "none"; `last` is the last line of progress.
    """
    room = state.state_folder(request["instance"]) / "download"
    try:
        room.mkdir(mode=0o700, exist_ok=True)
    except FileExistsError:
        raise Refusal("state_folder", f"{room} is not a folder; move it away") from None
    action = request["action"]
    if action == "start":
        return _start(request, room)
    if action == "run":
        return _run(request, room, lambda _: None)
    if action == "status":
        return _status(room)
    raise Refusal("bad_request", f"download knows no action {action!r}")


def _status(room: Path) -> dict[str, Any]:
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


def _start(request: dict[str, Any], room: Path) -> dict[str, Any]:
    """Fork the download off and wait until it holds the lock, or says that another one does."""
    reading, writing = os.pipe()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _detached(request, room, writing)
    os.close(writing)
    with open(reading, "rb") as answers:
        ready, _, _ = select.select([answers], [], [], _READY_SECONDS)
        line = answers.readline() if ready else b""
    if not line:
        raise Refusal("download_failed", f"the download did not start; see {room / 'download.log'}")
    answer: dict[str, Any] = json.loads(line)
    return answer


def _detached(request: dict[str, Any], room: Path, writing: int) -> None:
    """Become a process that nothing of the connection can end, run, and never return."""
    try:
        os.setsid()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.chdir("/")
        log = state.opened(room / "download.log", os.O_WRONLY | os.O_APPEND)
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

        _run(request, room, tell)
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


def _run(request: dict[str, Any], room: Path, tell: Tell) -> dict[str, Any]:
    secrets.remember(request.get("token") or "")
    descriptor = state.opened(room / "lock", os.O_RDWR)
    try:
        if not locked(descriptor, patience_seconds=_PATIENCE_SECONDS):
            answer = _answer("running", room, _last_line(room / "progress.jsonl"))
            tell(answer)
            return answer
        folder = os.path.realpath(os.path.expanduser(request["folder"]))
        _note(descriptor, request, folder)
        path = room / "progress.jsonl"
        _write(path, None)
        tell(_answer("started", room, None))
        last = _outcome(request, folder, room, lambda value: _write(path, value))
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


def _outcome(
    request: dict[str, Any], folder: str, room: Path, say: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """The last line of progress: {"done": true, ...} or {"error": {code, message}}."""
    print(f"{state.now()} {request['repository']} at {request['revision']} into {folder}", file=sys.stderr)
    try:
        with _sole_writer(folder, bool(request.get("foreign_folder"))):
            return hub_fetch.fetch(request, folder, room, say)
    except hub_errors.DownloadFailure as failure:
        return {"error": {"code": failure.code, "message": failure.message}}
    except Exception as error:
        traceback.print_exc()
        message = f"{folder}: {hub_errors.sentence_of(error)}"
        return {"error": {"code": hub_errors.code_of(error), "message": message}}


@contextlib.contextmanager
def _sole_writer(folder: str, foreign_folder: bool) -> Iterator[None]:
    """Hold the folder as its only writer, whoever the other may be; no file is left behind."""
    try:
        os.makedirs(folder, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        reason = f"{folder} is a file, or leads through one, and no folder can be made there"
        raise hub_errors.DownloadFailure("checkpoint_folder", reason) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise hub_errors.DownloadFailure("permission", f"{folder} cannot be written by uid {os.geteuid()}")
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        owner = os.fstat(descriptor).st_uid
        if owner != os.getuid() and not foreign_folder:
            raise hub_errors.DownloadFailure(
                "foreign_folder",
                f"{folder} belongs to uid {owner}, not to us: nothing is written without consent",
            )
        if not locked(descriptor, patience_seconds=_PATIENCE_SECONDS):
            raise hub_errors.DownloadFailure("checkpoint_busy", f"another process is writing in {folder}")
        yield
    finally:
        os.close(descriptor)


def _note(descriptor: int, request: dict[str, Any], folder: str) -> None:
    me = procs.process(os.getpid())
    note = {
        "pid": os.getpid(),
        "start_time": me.start_time if me else None,
        "boot": state.boot_id(),
        "machine": state.machine_id(),
        "since": state.now(),
        "repository": request["repository"],
        "revision": request["revision"],
        "folder": folder,
    }
    text = (json.dumps(note) + "\n").encode()
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
