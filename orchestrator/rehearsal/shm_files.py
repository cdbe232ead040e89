"""Which files in /dev/shm are those of the engines of one rehearsal's home?

A stand-in engine writes its home folder to the beginning of each (stand_in/worker.py). Where other programs live that use
shared memory, `deploy stop` cannot know whose a file of a killed rank is, and keeps it; a rehearsal leaves nothing behind.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

FOLDER = "/dev/shm"


def of_home(home: Path) -> list[Path]:
    """The files of this user that engines with this home folder made."""
    mark = os.fsencode(home) + b"\0"
    folder = Path(FOLDER)
    return [path for path in sorted(folder.iterdir()) if _begins(path, mark)] if folder.is_dir() else []


def remove(home: Path) -> None:
    """Take them away; the engines are gone, or go."""
    for path in of_home(home):
        path.unlink(missing_ok=True)


def _begins(path: Path, mark: bytes) -> bool:
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid():
            return False
        with path.open("rb") as file:
            return file.read(len(mark)) == mark
    except OSError:
        return False
