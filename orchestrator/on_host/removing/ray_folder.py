"""What becomes of the folder that Ray had for a launch, where the launch was killed before it could remove it?"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from orchestrator.on_host.removing import removal

ROOM, PREFIX, LINK = "/tmp", "deploy-ray-", "ray"
"""As `clusters/ray_node.py` makes it, which stands alone on the host: where it lies, how it is called, what in the launch's
folder leads to it."""


def remove(launch: Path) -> None:
    """Remove it once nothing of the launch lives; what keeps it from going stays untold: the next launch tries again."""
    with contextlib.suppress(OSError):
        room, name = os.path.split(os.readlink(launch / LINK))
        if room == ROOM and name.startswith(PREFIX):
            removal.take(room, name)
