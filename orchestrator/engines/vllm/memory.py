"""How much of a card does vLLM take, and how much of that is neither weights nor KV cache?"""

from __future__ import annotations

from packaging.version import Version

from orchestrator.engines.sizing import Overhead


def default_utilisation(version: str | None) -> float:
    """vLLM's default of --gpu-memory-utilization: 0.9 through 0.19.1, 0.92 from 0.20.0 (argument parsers)."""
    return 0.92 if _at_least(version, 0, 20) else 0.9


def default_step_tokens(version: str | None, memory_gib: float | None, card: str | None) -> int:
    """vLLM's default of --max-num-batched-tokens for a server: by the card's memory, and less on an A100.

    Read from 0.16.0, 0.19.1, 0.24.0 and 0.32.0; from 0.28 on cards of 160 GiB and more take the double.
    """
    if memory_gib is None:
        return 8192
    if memory_gib < 70 or "a100" in (card or "").lower():
        return 2048
    return 16384 if memory_gib >= 160 and _at_least(version, 0, 28) else 8192


def default_overhead(utilisation: float) -> Overhead:
    """What reported token counts of Kimi-K2.5 on eight RTX PRO 6000 imply is 1.9 to 4.8 GiB.

    Above 0.93 a GiB more: NCCL's buffers were seen to fail at 0.95 ("Failed to CUDA calloc").
    """
    more = 1.0 if utilisation > 0.93 else 0.0
    return Overhead(optimistic=2.5 + more, safe=5.0 + more)


def _at_least(version: str | None, *release: int) -> bool:
    try:
        return version is not None and Version(version).release >= release
    except ValueError:
        return False
