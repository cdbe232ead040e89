"""What of the wheels that uv keeps unpacked does no environment use any more?"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from orchestrator.on_host.removing import removal

_UNPACKED = "archive-v0"


def trim(engines: Path) -> None:
    """Take away each wheel of which no file has a second name, in an environment.

    Without that the room of an environment that was removed would not be free: its files go on under their names in the
    cache. uv fetches such a wheel again when it needs it.
    """
    unpacked = engines / "cache" / _UNPACKED
    if not unpacked.is_dir():
        return
    for wheel in sorted(unpacked.iterdir()):
        if not _shared(wheel):
            removal.take(str(unpacked), wheel.name, used={})


def _shared(wheel: Path) -> bool:
    for folder, _, files in os.walk(wheel):
        for file in files:
            status = os.lstat(os.path.join(folder, file))
            if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
                return True
    return False
