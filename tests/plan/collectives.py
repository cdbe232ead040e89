"""Outcomes of collectives that nobody ran."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.plan.collective import LARGE, MIDDLE, SMALL, Measured
from orchestrator.programs.collective import CollectiveOutcome, Timing


def outcome(*microseconds: float, **more: Any) -> CollectiveOutcome:
    """What a small, a middle and a large sum took."""
    timings = [
        Timing(bytes=size, seconds=us / 1e6)
        for size, us in zip((SMALL, MIDDLE, LARGE), microseconds, strict=False)
    ]
    usual: dict[str, Any] = {
        "state": "done",
        "at": "checked",
        "ranks_silent": (),
        "seconds": 9.5,
        "torch": "2.11.0",
        "nccl": "2.27.5",
        "wrong": 0,
        "measured": timings,
        "code": None,
        "reason": None,
        "lines": (),
        "left": (),
    }
    return CollectiveOutcome.model_validate({**usual, **more})


SILENT: Mapping[str, Any] = {"state": "silent", "at": "ready", "ranks_silent": (0, 1)}
FAILED: Mapping[str, Any] = {
    "state": "failed",
    "at": "ready",
    "code": "error",
    "reason": "DistBackendError: x",
}


def measured(
    outcomes: Mapping[str, CollectiveOutcome],
    pairs: tuple[tuple[int, int, CollectiveOutcome], ...] = (),
    *,
    gpus: int = 8,
    untried: int = 0,
) -> Measured:
    variables = {"NCCL_P2P_LEVEL": "SYS"} if "tuned" in outcomes else {}
    uuids = tuple(f"GPU-{number}" for number in range(gpus))
    return Measured(tuple(range(gpus)), uuids, "580.95.05", variables, outcomes, pairs, untried)
