"""Which engines of our own are on this host, how large are they, and which deployments use them?"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from orchestrator.on_host.environments import rooms, sizes, uses

_MEASURING_SECONDS = 20.0


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Look at them; changes nothing.

    request: measured (folders of other environments, whose size is asked for too). Answers {folder, free_bytes, engines:
    [{engine, version, folder, state (`rooms.Room.state`), bytes}], uses: [{deployment, launch, alive, folder}] (`uses.Use`),
    measured: {folder: bytes}}; bytes are null where they are not known.
    """
    until = time.monotonic() + _MEASURING_SECONDS
    folder = rooms.folder()
    return {
        "folder": str(folder),
        "free_bytes": sizes.free(folder),
        "engines": [
            {
                "engine": room.engine,
                "version": room.version,
                "folder": str(room.path),
                "state": room.state(),
                "bytes": sizes.taken(room.path, until=until),
            }
            for room in rooms.every()
        ],
        "uses": [vars(use) for use in uses.uses()],
        "measured": {path: sizes.taken(Path(path), until=until) for path in request["measured"]},
    }
