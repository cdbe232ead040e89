"""Who asks for the right to deploy, and who has it?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from orchestrator.programs.request import Request, Value


class Held(Value):
    """The lock is ours for as long as the program lives."""

    locked: Literal[True]
    before: str | None
    """The word that it held until now (`on_host/state/turns.py`); None where its last holder did not give it back."""


class HeldBy(Value):
    """Somebody else has it: what they noted of themselves."""

    held_by: Mapping[str, Any]


class TakeLock(Request[Held | HeldBy]):
    """`who` is user@machine; the lock is freed after so many seconds without a heartbeat."""

    program = "lock"

    instance: str
    who: str
    doing: str
    heartbeat_seconds: float
    patience_seconds: float
