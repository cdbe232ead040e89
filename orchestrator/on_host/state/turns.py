"""Has anybody had the right to deploy since somebody looked?

Whoever gives the lock back leaves a word in it that was never there before. Where the same word is found when a deployer
looks and when it takes the lock, nobody has had it in between: what deployers change is as it was seen.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from orchestrator.on_host.state import state

NEVER = ""
"""Nobody has taken it yet."""


def given_back() -> dict[str, Any]:
    """What the lock holds from now on, until somebody takes it."""
    return {"free": os.urandom(16).hex()}


def word(lock: Path) -> str | None:
    """The word in a lock that was given back; None where it is held, or its last holder died with it: nobody knows then
    what was changed, and until when."""
    if not os.path.lexists(lock):
        return NEVER
    note = state.read_json(lock)
    free = note.get("free") if isinstance(note, dict) else None
    return free if isinstance(free, str) else None
