"""Which collectives of a host's GPUs are measured, and what came of each?"""

from __future__ import annotations

import functools
import pkgutil
from collections.abc import Mapping
from typing import Literal

from orchestrator.on_host.footprint import Footprint
from orchestrator.programs.request import Request, Value


class Timing(Value):
    """What one all-reduce of so many bytes takes, in seconds."""

    bytes: int
    seconds: float


class CollectiveOutcome(Value):
    """How a group of ranks fared: `done`, `silent` (no progress within its limit) or `failed` (`code`, `reason`); `at` is how
    far all of them came: nowhere, torch is there, or the first sum."""

    state: Literal["done", "silent", "failed"]
    at: Literal["starting", "ready", "checked"]
    ranks_silent: tuple[int, ...]
    seconds: float
    torch: str | None
    nccl: str | None
    wrong: int
    """How many numbers of a sum were not what they must be."""
    measured: tuple[Timing, ...]
    code: str | None
    reason: str | None
    lines: tuple[str, ...]
    """What NCCL said, the last of it."""
    left: tuple[int, ...]
    """Processes that could not be ended."""


class CollectiveNews(Value):
    """What became of a run, or of a pair of GPUs (by place in `cards`) in it; `untried` pairs for want of time."""

    run: str | None = None
    pair: tuple[int, int] | None = None
    outcome: CollectiveOutcome | None = None
    untried: int = 0


class CollectiveRun(Value):
    """One measurement, with these variables on top of the others."""

    name: str
    variables: Mapping[str, str]


class CollectiveMeeting(Value):
    """Where ranks of several hosts meet: at the first of all `ranks`; `first` is a host's first."""

    address: str
    port: int
    first: int
    ranks: int


class MeasureCollective(Request[CollectiveNews]):
    """The program yields as it goes, and ends with its input."""

    program = "collective"

    python: str
    """Has torch."""
    text: str
    """The program of a rank."""
    backend: Literal["nccl", "gloo"]
    cards: tuple[str, ...]
    """UUIDs."""
    environment: Mapping[str, str]
    runs: tuple[CollectiveRun, ...]
    fallback: CollectiveRun | None
    """What is tried where one of the runs did not do well."""
    sizes: tuple[int, ...]
    """Bytes."""
    ready_seconds: float
    silent_seconds: float
    pairs_seconds: float
    footprint: Footprint
    meeting: CollectiveMeeting | None = None


@functools.cache
def rank_program() -> str:
    """The text that each rank runs."""
    text = pkgutil.get_data("orchestrator.on_host", "collectives/rank.py")
    assert text is not None  # of a loader that can read files
    return text.decode()
