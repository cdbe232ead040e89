"""What somebody may put in a file's place."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

UNREADABLE = {
    "pipe": "is a pipe, not a regular file",
    "folder": "is a folder, not a regular file",
    "socket": "is a socket, not a regular file",
    "device": "is a device, not a regular file",
    "dangling": "is a link to nowhere, which is missing",
    "loop": "cannot be read: Too many levels of symbolic links",
    "missing": "missing",
}
"""What cannot be read, by kind, with what is said of it."""


def put(path: Path, kind: str) -> None:
    """Put one of them in the place of a file, a folder or nothing."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        os.mknod(path, stat.S_IFSOCK | 0o600)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "dangling":
        path.symlink_to("nowhere")
    elif kind == "loop":
        path.symlink_to(path.name)
