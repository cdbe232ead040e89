"""Is a lock file of the Hub client held by somebody?

It takes an flock, on a file that is empty and stays behind. Where the file system has no flock it makes a file that is
the lock by being there, with the holder's pid and machine in it (filelock's SoftFileLock).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator

from orchestrator.on_host.processes import in_use, procs
from orchestrator.on_host.removing import way

_LONGEST = 4096


def lock_files(base: str, below: str) -> dict[in_use.File, str]:
    return {file: path for file, path in way.files(base, below).items() if path.endswith(".lock")}


@contextlib.contextmanager
def tried(base: str, below: str) -> Iterator[str | None]:
    """Hold a lock file that nobody holds; gives the reason where somebody does, or nobody can tell."""
    try:
        descriptor = way.opened(base, below)
    except OSError as error:
        yield error.strerror or str(error)
        return
    try:
        yield _take(descriptor)
    finally:
        os.close(descriptor)


def held(base: str, below: str) -> bool:
    """Whether a lock file is there that somebody may hold."""
    with contextlib.suppress(FileNotFoundError):
        descriptor = way.opened(base, below)
        try:
            return _take(descriptor) is not None
        finally:
            os.close(descriptor)
    return False


def _take(descriptor: int) -> str | None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return "a running process holds it"
    except OSError as error:
        return f"nobody can tell whether it is held: {error.strerror or error}"
    return soft_holder(os.pread(descriptor, _LONGEST, 0).decode(errors="replace"), os.uname().nodename)


def soft_holder(content: str, machine: str) -> str | None:
    """Why a lock file with this content may be held by being there; an empty one is not, nor one of a dead process here."""
    if not content.strip():
        return None
    lines = content.splitlines()
    if len(lines) < 2 or not lines[0].isdecimal():
        return "it is not empty, so being there may be the lock"
    if lines[1] != machine:
        return f"pid {lines[0]} on {lines[1]} may hold it"
    return f"pid {lines[0]} holds it" if procs.process(int(lines[0])) else None
