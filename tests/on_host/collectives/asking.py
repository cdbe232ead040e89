"""A test of collectives as the controller asks for it, by a stand-in for torch."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from orchestrator.engines.vllm.footprint import FOOTPRINT
from orchestrator.programs.collective import CollectiveRun, MeasureCollective, rank_program

TORCH = Path(__file__).with_name("stand_in")


def request(cards: int, variables: dict[str, str] | None = None, **more: Any) -> MeasureCollective:
    """One run; the variables are every rank's."""
    return MeasureCollective.model_validate(
        {
            "python": sys.executable,
            "text": rank_program(),
            "backend": "nccl",
            "cards": [f"GPU-{number}" for number in range(cards)],
            "environment": {"PYTHONPATH": str(TORCH), **(variables or {})},
            "runs": (CollectiveRun(name="tuned", variables={"NCCL_PROTO": "LL"}),),
            "fallback": None,
            "sizes": (8192, 1 << 20),
            "ready_seconds": 20,
            "silent_seconds": 1.0,
            "pairs_seconds": 30,
            "footprint": FOOTPRINT,
            **more,
        }
    )
