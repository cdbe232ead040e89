"""How much of the disk does a folder take, and how much is free?"""

from __future__ import annotations

import os
import time
from pathlib import Path


def taken(folder: Path, *, until: float) -> int | None:
    """Bytes on the disk of all that lies below, a file with several names counted once; links are not followed.

    None where it is missing, and where it takes longer to add up than `until` (monotonic): an environment has a hundred
    thousand files, and the disk may be far away.
    """
    if not folder.is_dir():
        return None
    total, seen, waiting = 0, set(), [str(folder)]
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:  # another user's, or gone meanwhile
            continue
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if status.st_nlink > 1 and not entry.is_dir(follow_symlinks=False):
                if status.st_ino in seen:
                    continue
                seen.add(status.st_ino)
            total += status.st_blocks * 512
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
        if time.monotonic() > until:
            return None
    return total


def free(folder: Path) -> int:
    """Bytes that this user may still write where a folder lies, or will lie."""
    while not folder.exists():
        folder = folder.parent
    figures = os.statvfs(folder)
    return figures.f_bavail * figures.f_frsize
