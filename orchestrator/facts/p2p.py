"""Which pairs of GPUs cannot reach each other's memory?"""

from __future__ import annotations

from orchestrator.facts.gpus import NVIDIA_PATH, failure
from orchestrator.facts.source import Command, Fact, Output, Unknown, parsed, plain
from orchestrator.facts.topology import square

COMMAND = Command.sh(NVIDIA_PATH + "nvidia-smi topo -p2p r", timeout=30)


def parse(output: Output) -> tuple[tuple[int, int, str], ...] | Unknown:
    """Pairs of GPUs that may not read each other's memory, with the driver's word for it (NS, CNS, ...).

    From `nvidia-smi topo -p2p r`. Empty where every pair says OK: the driver's claim, not a test.
    """
    if (failed := failure(output)) is not None:
        return failed
    matrix = square(output.out)
    if isinstance(matrix, Unknown):
        return matrix
    pairs = ((a, b, word) for a, row in enumerate(matrix) for b, word in enumerate(row) if a < b)
    return tuple(pair for pair in pairs if pair[2] != "OK")


FACT = Fact("p2p", plain(COMMAND), parsed(parse), tuple[tuple[int, int, str], ...])
