"""How is a log on this machine read, whole or as it grows?"""

from __future__ import annotations

import os
import select
import stat
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from orchestrator.base.errors import UsageError
from orchestrator.base.near_file import near_file
from orchestrator.on_host.files import regular_file

CHUNK = 256 * 1024
LOOK_SECONDS = 0.2
"""How often a file that is followed is looked at."""


def chunks(file: str) -> Iterator[bytes]:
    """The bytes of a file, or of standard input for "-". Raises UsageError("unreadable_log")."""
    if file == "-":
        yield from iter(partial(sys.stdin.buffer.read, CHUNK), b"")
        return
    try:
        with _opened(file) as source:
            yield from iter(partial(source.read, CHUNK), b"")
    except OSError as error:
        raise _unreadable(file, error) from error


def follow(file: str) -> Iterator[tuple[bytes, float]]:
    """The bytes as they come, and for how many seconds none came; empty bytes let time pass.

    A file is followed by its name: one that was cut short or replaced is read from its beginning. Standard input ends,
    a file does not. Raises UsageError("unreadable_log") where there is no file to begin with.
    """
    return _standard_input() if file == "-" else _file(file)


def _standard_input() -> Iterator[tuple[bytes, float]]:
    since = time.monotonic()
    while True:
        ready, _, _ = select.select([sys.stdin.buffer], [], [], LOOK_SECONDS)
        if not ready:
            yield b"", time.monotonic() - since
            continue
        chunk = os.read(sys.stdin.fileno(), CHUNK)
        if not chunk:
            return
        since = time.monotonic()
        yield chunk, 0.0


def _file(file: str) -> Iterator[tuple[bytes, float]]:
    source = _opened(file)
    since = time.monotonic()
    try:
        while True:
            while chunk := source.read(CHUNK):
                yield chunk, 0.0
                since = time.monotonic() - max(0.0, time.time() - os.fstat(source.fileno()).st_mtime)
            yield b"", time.monotonic() - since
            time.sleep(LOOK_SECONDS)
            if _is_another(file, source):
                source.close()
                source = _opened(file)
    finally:
        source.close()


def _opened(file: str) -> BinaryIO:
    """A file, a terminal, or a pipe into which somebody writes (`deploy diagnose <(zcat vllm.log.gz)`)."""
    try:
        mode = Path(file).stat().st_mode
        pipe = stat.S_ISFIFO(mode)
        if not (stat.S_ISREG(mode) or pipe or stat.S_ISCHR(mode)):
            raise _no_log(file, f"{regular_file.kind_of(mode)}, not a log file")
        source = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        raise _unreadable(file, error) from error
    if stat.S_ISCHR(mode) and not os.isatty(source):  # /dev/zero has no end
        os.close(source)
        raise _no_log(file, "a device, not a log file")
    if pipe and not _has_writer(source):
        os.close(source)
        raise _no_log(file, "a pipe into which nobody writes")
    os.set_blocking(source, True)
    return os.fdopen(source, "rb")


def _has_writer(pipe: int) -> bool:
    """Whether something was written already, or somebody may do so yet: else there is nothing to wait for."""
    watched = select.poll()
    watched.register(pipe, select.POLLIN)
    if any(event & select.POLLIN for _, event in watched.poll(0)):
        return True
    try:
        os.read(pipe, 1)  # nothing is there to be lost
    except BlockingIOError:
        return True
    return False


def _is_another(file: str, source: BinaryIO) -> bool:
    """Whether the name stands for another file now, or this one was cut short; a name that is gone is waited for."""
    try:
        there = Path(file).stat()
    except OSError:
        return False
    ours = os.fstat(source.fileno())
    return (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino) or there.st_size < source.tell()


def _unreadable(file: str, error: OSError) -> UsageError:
    near = near_file(Path(file)) if isinstance(error, FileNotFoundError) else None
    return _no_log(file, str(error.strerror), **({"near": near} if near else {}))


def _no_log(file: str, reason: str, **known: str) -> UsageError:
    return UsageError("unreadable_log", f"{file}: {reason}", **known)
