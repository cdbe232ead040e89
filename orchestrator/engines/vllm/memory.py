"""How much of a card does vLLM take, and how much does it compute at once, where no option says so?"""

from __future__ import annotations

from packaging.version import Version


def default_utilisation(version: str | None) -> float:
    """vLLM's default of --gpu-memory-utilization: 0.9 through 0.19.1, 0.92 from 0.20.0 (argument parsers)."""
    return 0.92 if at_least(version, 0, 20) else 0.9


def default_step_tokens(version: str | None, memory_gib: float | None, card: str | None) -> int:
    """vLLM's default of --max-num-batched-tokens for a server: by the card's memory, and less on an A100.

    Read from 0.16.0, 0.19.1, 0.24.0 and 0.32.0; from 0.28 on cards of 160 GiB and more take the double.
    """
    if memory_gib is None:
        return 8192
    if _small(memory_gib, card):
        return 2048
    return 16384 if memory_gib >= 160 and at_least(version, 0, 28) else 8192


def default_sequences(memory_gib: float | None, card: str | None) -> int:
    """vLLM's default of --max-num-seqs for a server, by the same."""
    return 256 if memory_gib is not None and _small(memory_gib, card) else 1024


def _small(memory_gib: float, card: str | None) -> bool:
    return memory_gib < 70 or "a100" in (card or "").lower()


def at_least(version: str | None, *release: int) -> bool:
    try:
        return version is not None and Version(version).release >= release
    except ValueError:
        return False
