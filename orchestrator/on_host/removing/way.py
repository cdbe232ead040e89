"""How is what lies below a folder reached without following a link?"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

from orchestrator.on_host.processes import in_use

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


class ThroughLink(OSError):
    """A folder on the way is a link, or the way leads out."""


@contextlib.contextmanager
def room(base: str, below: str) -> Iterator[tuple[int, str]]:
    """The folder in which the last name lies, open, and that name."""
    *parts, name = below.split("/")
    if any(part in ("", ".", "..") for part in (*parts, name)):
        raise ThroughLink(f"it leads out of {base}")
    descriptor = os.open(base, _FOLDER)
    try:
        for at, part in enumerate(parts):
            if stat.S_ISLNK(os.lstat(part, dir_fd=descriptor).st_mode):
                raise ThroughLink(f"it is reached through the link {os.path.join(base, *parts[: at + 1])}")
            deeper = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = deeper
        yield descriptor, name
    finally:
        os.close(descriptor)


def opened(base: str, below: str) -> int:
    """A descriptor to read a regular file with, reached without a link below `base`. Raises OSError."""
    with room(base, below) as (parent, name):
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(name, flags, dir_fd=parent)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(f"{below} is no regular file")


def files(base: str, below: str) -> dict[in_use.File, str]:
    """The regular files in the folder `base`/`below`, however deep, by their paths below the base; links lead nowhere."""
    paths = {}
    with contextlib.suppress(OSError), room(base, below) as (parent, name):
        if not stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode):
            return {}
        start = os.path.dirname(below)
        for folder, _, names, at in os.fwalk(name, dir_fd=parent):
            for file in names:
                with contextlib.suppress(OSError):
                    status = os.lstat(file, dir_fd=at)
                    if stat.S_ISREG(status.st_mode):
                        paths[(status.st_dev, status.st_ino)] = os.path.join(start, folder, file)
    return paths
