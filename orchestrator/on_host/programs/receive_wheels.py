"""How are wheels taken from the controller for an engine that is then installed from them?"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

from orchestrator.on_host.environments import rooms, wheels
from orchestrator.on_host.files.sole_writer import locked
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.state import state

_SILENCE_SECONDS = 120
"""A sender that is silent for so long is gone, though its connection may not know that yet."""
_PATIENCE_SECONDS = 3.0


def main(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields {"wanted": [{name, offset}]}, then reads that of each file from standard input, yielding {name, sound}.

    request: engine, version, files [{name, size, sha256}]. Where the engine counts already, or is being made from what was sent
    before, nothing is wanted. Raises Refusal: wheels_busy where another sender is at it, and what `wheels` raises.
    """
    there = rooms.room(request["engine"], request["version"])
    if there.state() != "half_made":
        yield {"wanted": []}
        return
    room = rooms.made(there)
    descriptor = state.opened(room / "sending", os.O_RDWR)
    try:
        if not locked(descriptor, patience_seconds=_PATIENCE_SECONDS):
            raise Refusal("wheels_busy", f"somebody else is sending wheels into {room}")
        folder, files = room / "wheels", request["files"]
        wanted = wheels.begun(folder, files)
        yield {"wanted": wanted}
        yield from wheels.received(folder, files, wanted, _read)
    finally:
        os.close(descriptor)


def _read(most: int) -> bytes:
    signal.alarm(_SILENCE_SECONDS)
    try:
        return sys.stdin.buffer.read(most)
    finally:
        signal.alarm(0)
