"""Can a file be read here, and what are its bytes, whatever somebody put in its place?

Opening a pipe waits for a writer, reading a device may never end, and a file of a terabyte takes no disk: a path in
somebody else's hands is opened here alone, and read up to a limit.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from typing import Any, BinaryIO, Union

Path = Union[str, "os.PathLike[str]"]

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class Unfit(Exception):
    """Why a file cannot be read, as one clause that begins with a verb or a word such as "missing"."""


class TooLarge(Unfit):
    """It has more bytes than are read."""


def opened(path: Path) -> BinaryIO:
    """The regular file at the path, or where its links lead; raises Unfit."""
    try:
        _require_regular(
            os.stat(path)
        )  # opening a device may do something: winding a tape, arming a watchdog
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        raise Unfit(_why(path, error)) from error
    except ValueError as error:  # a NUL in its name
        raise Unfit(f"cannot be read: {error}") from error
    try:
        _require_regular(os.fstat(descriptor))  # what was exchanged in between
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read(path: Path, limit: int) -> bytes:
    """The bytes of a regular file of at most `limit` bytes; raises Unfit."""
    with opened(path) as file:
        try:
            size = os.fstat(file.fileno()).st_size
            data = b"" if size > limit else file.read(size + 1)
            if len(data) > size:  # it grew meanwhile, or is of /proc, where all have the size 0
                data += file.read(limit + 1 - len(data))
        except OSError as error:
            raise Unfit(_why(path, error)) from error
    if size > limit or len(data) > limit:  # it may grow while it is read
        raise TooLarge(f"is too large: {max(size, len(data))} bytes, at most {limit} are read")
    return data


def read_json(path: Path, limit: int) -> Any:
    """The JSON value in a regular file, None where it is missing, unfit or broken."""
    with contextlib.suppress(Unfit, ValueError, RecursionError):
        return json.loads(read(path, limit).decode("utf-8"))
    return None


def is_one(path: Path) -> bool:
    """Whether the path names a regular file, or a link to one."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def kind_of(mode: int) -> str:
    """What a file that is none is called."""
    return _KINDS.get(stat.S_IFMT(mode), "something else")


def _require_regular(status: os.stat_result) -> None:
    kind = stat.S_IFMT(status.st_mode)
    if kind != stat.S_IFREG:
        raise Unfit(f"is {kind_of(status.st_mode)}, not a regular file")


def _why(path: Path, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"is a link to {os.readlink(path)}, which is missing" if os.path.islink(path) else "missing"
    return f"cannot be read: {error.strerror or error}"
