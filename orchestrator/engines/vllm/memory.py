"""How much of a card does vLLM take, and how much does it compute at once, where no option says so?"""

from __future__ import annotations

from packaging.version import Version

from orchestrator.engines.vllm.defaults import default


def default_utilisation(version: str | None) -> float:
    """vLLM's default of --gpu-memory-utilization."""
    return float(default("gpu-memory-utilization", version).value)


def default_step_tokens(version: str | None, memory_gib: float | None, card: str | None) -> int:
    """vLLM's default of --max-num-batched-tokens for a server: by the card's memory, and less on some."""
    return int(default("max-num-batched-tokens", version, memory_gib, card).value)


def default_sequences(version: str | None, memory_gib: float | None, card: str | None) -> int:
    """vLLM's default of --max-num-seqs for a server, by the same."""
    return int(default("max-num-seqs", version, memory_gib, card).value)


def at_least(version: str | None, *release: int) -> bool:
    try:
        return version is not None and Version(version).release >= release
    except ValueError:
        return False
