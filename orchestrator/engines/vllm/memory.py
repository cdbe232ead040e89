"""How much of a card does vLLM take, and how much of that is neither weights nor KV cache?"""

from __future__ import annotations

from packaging.version import Version

from orchestrator.engines.sizing import Overhead


def default_utilisation(version: str | None) -> float:
    """vLLM's default of --gpu-memory-utilization: 0.9 through 0.19.1, 0.92 from 0.20.0 (argument parsers)."""
    try:
        return 0.92 if version and Version(version).release >= (0, 20) else 0.9
    except ValueError:
        return 0.9


def default_overhead(utilisation: float) -> Overhead:
    """What reported token counts of Kimi-K2.5 on eight RTX PRO 6000 imply is 1.9 to 4.8 GiB.

    Above 0.93 a GiB more: NCCL's buffers were seen to fail at 0.95 ("Failed to CUDA calloc").
    """
    more = 1.0 if utilisation > 0.93 else 0.0
    return Overhead(optimistic=2.5 + more, safe=5.0 + more)
