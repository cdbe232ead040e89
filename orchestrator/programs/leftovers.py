"""What of a deployment lives on, and how much GPU memory does it hold?"""

from __future__ import annotations

from orchestrator.programs.processes import NamedProcess
from orchestrator.programs.request import Request, Value


class Holding(NamedProcess):
    """A living process and what it holds on all GPUs, 0 or None where that is not known."""

    gpu_mib: int | None


class Living(Value):
    """A launch of which something lives; `supervised` while its supervisor does, `cards` MiB by the GPU's uuid."""

    launch: int
    supervised: bool
    processes: tuple[Holding, ...]
    cards: dict[str, int]


class Leftovers(Request[Living | None]):
    program = "leftovers"

    instance: str
