"""Which bytes of a checkpoint can be given to another host, as its repository has them?

Nothing but what the manifest of the last download names, and that only where it lies in the folder itself: no link is followed.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

from orchestrator.on_host.checkpoint.shards import git_blob, inside
from orchestrator.on_host.state import last_download

_ROOM = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class NotYet(Exception):
    """It is not there, and the download that may bring it has not ended."""


class Offer:
    """The checkpoint in a folder of this host, by what the deployment (its `state` folder) knows of it."""

    def __init__(self, state: Path, folder: str) -> None:
        self._room, self._backups = state / "download", state / "backups"
        self._folder = os.path.realpath(os.path.expanduser(folder))

    def opened(self, name: str) -> BinaryIO | None:
        """The file; None where it is not to be had here. Raises NotYet.

        Of a small file that was edited here (a patch does that) the original is given, where it was kept.
        """
        manifest = last_download.read(self._room, self._folder)
        entry = manifest["files"].get(name) if manifest else None
        if entry is not None and inside(name):
            file = self._there(name, entry) or self._original(entry)
            if file is not None:
                return file
        if manifest is None or not manifest["complete"]:
            raise NotYet
        return None

    def _there(self, name: str, entry: dict[str, Any]) -> BinaryIO | None:
        file = _opened(self._folder, name)
        if file is not None:
            small = entry.get("sha256") is None
            same = os.fstat(file.fileno()).st_size == entry.get("size")
            if same and (not small or git_blob(os.path.join(self._folder, name)) == entry.get("blob")):
                return file
            file.close()
        return None

    def _original(self, entry: dict[str, Any]) -> BinaryIO | None:
        if entry.get("sha256") is None and entry.get("blob"):
            with contextlib.suppress(OSError):
                for path in self._backups.iterdir():
                    if path.stat().st_size == entry.get("size") and git_blob(str(path)) == entry["blob"]:
                        return _opened(str(self._backups), path.name)
        return None


def _opened(folder: str, name: str) -> BinaryIO | None:
    """A regular file below a folder, with no link on the way to it; None where there is none."""
    *rooms, last = name.split("/")
    with contextlib.ExitStack() as until_end:
        try:
            at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            until_end.callback(os.close, at)
            for room in rooms:
                at = os.open(room, _ROOM, dir_fd=at)
                until_end.callback(os.close, at)
            descriptor = os.open(last, _FILE, dir_fd=at)
        except OSError:
            return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    return os.fdopen(descriptor, "rb")
