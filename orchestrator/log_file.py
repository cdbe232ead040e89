"""How is a log on this machine read, whole or as it grows?"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from orchestrator.errors import UsageError

CHUNK = 256 * 1024
LOOK_SECONDS = 0.2
"""How often a file that is followed is looked at."""


def chunks(file: str) -> Iterator[bytes]:
    """The bytes of a file, or of standard input for "-". Raises UsageError("unreadable_log")."""
    if file == "-":
        yield from iter(partial(sys.stdin.buffer.read, CHUNK), b"")
        return
    try:
        with Path(file).open("rb") as source:
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
    try:
        return Path(file).open("rb")
    except OSError as error:
        raise _unreadable(file, error) from error


def _is_another(file: str, source: BinaryIO) -> bool:
    """Whether the name stands for another file now, or this one was cut short; a name that is gone is waited for."""
    try:
        there = Path(file).stat()
    except OSError:
        return False
    here = os.fstat(source.fileno())
    return (there.st_dev, there.st_ino) != (here.st_dev, here.st_ino) or there.st_size < source.tell()


def _unreadable(file: str, error: OSError) -> UsageError:
    what = "a folder, not a log file" if isinstance(error, IsADirectoryError) else error.strerror
    return UsageError("unreadable_log", f"{file}: {what}", next_command="deploy diagnose FILE")
