"""What runs with the home folder of one rehearsal, and how is it ended?

Its engines and whatever they started, a download that was left to itself: each has that HOME in its environment.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from orchestrator.on_host.processes import procs

GIVE_UP_SECONDS = 10.0


def of_home(home: Path) -> list[procs.Process]:
    """The living processes with this home folder, this one left out."""
    mark = b"\0HOME=" + os.fsencode(home) + b"\0"
    return [
        process
        for pid, process in procs.processes().items()
        if process.alive
        and pid != os.getpid()
        and mark in b"\0" + procs.read_bytes(f"/proc/{pid}/environ") + b"\0"
    ]


def end(home: Path) -> None:
    """Kill them, and those that they start meanwhile. Raises PermissionError for somebody else's."""
    give_up = time.monotonic() + GIVE_UP_SECONDS
    while (living := of_home(home)) and time.monotonic() < give_up:
        for process in living:
            procs.send(process, signal.SIGKILL)
        procs.wait_for_end(living, 1.0)
