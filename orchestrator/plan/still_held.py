"""Who holds what an engine found taken, on cards of which only the engine's own word is known? Pure.

Parts of a card (MIG), cards that CUDA numbers otherwise, or none that tell: which of them were meant nobody knows, so that memory that
is free somewhere says nothing. That none came back says that the next launch would find the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.engines.sizing import Fit
from orchestrator.facts.gpu_processes import GpuProcess
from orchestrator.plan.gpu_holders import holders
from orchestrator.plan.gpu_room import LEAST_SHARE, Demand, SmallerShare

if TYPE_CHECKING:
    from orchestrator.programs.cleanup import Waited

_MARGIN = 0.01


@dataclass(frozen=True)
class StillHeld:
    """What an engine found free at its start and takes, in GiB, and who computes on the GPUs of its host after `seconds` of waiting in
    vain."""

    launch: Demand
    free_gib: float
    total_gib: float
    wanted_gib: float
    seconds: float
    holders: tuple[GpuProcess, ...]
    lower: SmallerShare | None
    """The share that it found free; None where the weights alone take more."""

    @property
    def sentence(self) -> str:
        """How much, and who has it."""
        refused = f"{self.launch.engine} found {self.free_gib:g} of {self.total_gib:g} GiB free and takes {self.wanted_gib:g} GiB"
        listed = "; ".join(holders(self.holders))
        who = (
            listed
            or "nvidia-smi lists no process, so that what holds it cannot be seen from here, such as another container"
        )
        return f"{refused}, and nothing was given back in {self.seconds:.0f} s: {who}"

    @property
    def advice(self) -> str:
        """What a person could do, in words."""
        ways = ["wait until it has ended", "take another card"]
        if self.lower is not None:
            ways.append(f"share it with --set {self.lower.settings[0]}")
        nothing = "" if self.lower is not None else ". No smaller share would do: the weights alone take more"
        return f"It is not ours, so it stays: {', or '.join(ways)}{nothing}"

    @property
    def cure(self) -> dict[str, str]:
        """What the next command may give."""
        return {} if self.lower is None else {"setting": self.lower.settings[0]}


def still_held(read: Mapping[str, str], waited: Waited, launch: Demand, fit: Fit) -> StillHeld | None:
    """What is held still by what was `read` of the engine's refusal ("free", "total" and "wanted", in GiB); None where that is not
    known, or where some memory came back."""
    try:
        free, total, wanted = (float(read[name]) for name in ("free", "total", "wanted"))
    except (KeyError, ValueError):
        return None
    if waited.given_back is not False or not 0 <= free < wanted <= total:
        return None
    share = math.floor((free / total - _MARGIN) * 100) / 100
    least = max(LEAST_SHARE, (fit.weights_gib_per_gpu or 0) / total)
    lower = SmallerShare(launch.option, share) if share >= least else None
    return StillHeld(launch, free, total, wanted, waited.seconds, waited.holders, lower)
