"""Which engines of our own are on a host, and which deployments use an environment?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from orchestrator.programs.request import Request, Value


class EngineRoom(Value):
    """One engine of our own: "half_made" counts for nobody, and is made anew by whoever asks for it."""

    engine: str
    version: str
    folder: str
    state: Literal["whole", "making", "half_made"]
    bytes: int | None


class EngineUse(Value):
    """A launch that was started by an interpreter in `folder` and lives, or is its deployment's last; `alive` None: not known here."""

    deployment: str
    launch: int
    alive: bool | None
    folder: str


class EngineRooms(Value):
    """All of them, and the bytes that are free where they lie and that each of the other folders takes."""

    folder: str
    free_bytes: int
    engines: tuple[EngineRoom, ...]
    uses: tuple[EngineUse, ...]
    measured: Mapping[str, int | None]


class LookAtEngines(Request[EngineRooms]):
    program = "engines"

    measured: tuple[str, ...] = ()
    """Folders of environments that are not ours."""
