"""Will the weights and the KV cache of one full request fit into a GPU's memory?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from orchestrator.engines.kv_cache import BLOCK, KvCache

GIB = 2**30
TORCH_SHARE = 0.9935
"""torch sees 94.97 GiB of the 97887 MiB that nvidia-smi names for an RTX PRO 6000."""
_SPARE_LATENT, _SPARE_HEADS = 0.025, 0.005
_UNBOUNDED = 1 << 40
"""Tokens beyond any context: a request that fits even so never grows."""

FitVerdict = Literal["fits", "borderline", "does_not_fit", "unknown"]


@dataclass(frozen=True)
class Overhead:
    """GiB of one GPU that are neither weights nor KV cache: context, NCCL, activations, CUDA graphs."""

    optimistic: float
    safe: float


@dataclass(frozen=True)
class WayToFit:
    """A change that makes a context fit: `settings` is what --set takes; `gpus`: how many it wants, where that is more than there are."""

    what: str
    settings: tuple[str, ...]
    gpus: int | None = None

    @property
    def text(self) -> str:
        wanted = "" if self.gpus is None else f", on {self.gpus} GPUs"
        return f"{self.what}{wanted}: {' '.join(f'--set {setting}' for setting in self.settings)}"


@dataclass(frozen=True)
class Fit:
    """The judgement for one GPU, the smallest of the host, and the numbers behind it (GiB, tokens, bytes)."""

    verdict: FitVerdict
    reason: str
    context: int
    """Tokens of the request that was judged."""
    longest_context: int | None
    """The longest context that fits safely, a multiple of 16; None where nothing fits or nothing is known."""
    weights_gib_per_gpu: float | None
    kv_bytes_per_token: int | None
    """What each further token takes; None where that is not known or, behind a window, nothing."""
    needed_gib: float | None
    """KV cache of one request of the full context."""
    safe_gib: float | None
    """What is left for KV cache with the safe overhead; `optimistic_gib` with the optimistic one."""
    optimistic_gib: float | None
    memory_gib: float | None
    utilisation: float
    overhead: Overhead
    longest_by_dtype: Mapping[str, int | None] = field(default_factory=dict)
    """`longest_context` with a KV cache of each of these dtypes ("bf16", "fp8"), where it was asked."""
    ways: tuple[WayToFit, ...] = ()
    """What would make the whole context fit, each by itself."""

    def as_json(self) -> dict[str, Any]:
        weights = self.weights_gib_per_gpu
        return {
            "verdict": self.verdict,
            "reason": self.reason,
            "max_model_len": self.longest_context,
            "weights_gib_per_gpu": None if weights is None else round(weights, 2),
            "kv_bytes_per_token": self.kv_bytes_per_token,
            "overhead_gib": {
                "optimistic": round(self.overhead.optimistic, 1),
                "safe": round(self.overhead.safe, 1),
            },
            "kv_gib_per_request": None if self.needed_gib is None else round(self.needed_gib, 2),
            "max_model_len_by_kv_dtype": dict(self.longest_by_dtype),
            "would_fit": [
                {"way": way.what, "set": list(way.settings), "gpus": way.gpus} for way in self.ways
            ],
        }


def smallest_memory_gib(memory_mib: Sequence[int | None]) -> float | None:
    """GiB that torch will see on the smallest GPU, from nvidia-smi's MiB; None if one is not known.

    Every tensor-parallel rank needs the same, so the smallest GPU decides.
    """
    known = [mib for mib in memory_mib if mib is not None]
    if not known or len(known) < len(memory_mib):
        return None
    return min(known) * TORCH_SHARE / 1024


def weights_gib_per_gpu(
    weights_bytes: int, *, gpus: int, replicated_bytes: int | None, spare: float = _SPARE_LATENT
) -> float:
    """GiB of weights on each of `gpus` ranks, of which `replicated_bytes` are on every rank in full.

    Where the replicated part is not known, `spare` of it is added: with a latent 2.5 %, of heads 0.5 % (what loading models printed).
    """
    if replicated_bytes is None:
        share = weights_bytes / gpus * (1 + spare if gpus > 1 else 1.0)
    else:
        share = (weights_bytes - replicated_bytes) / gpus + replicated_bytes
    return share / GIB


def fit(
    *,
    memory_gib: float | None,
    weights_bytes: int | None,
    cache: KvCache | None,
    context: int,
    utilisation: float,
    gpus: int = 1,
    replicated_bytes: int | None = None,
    overhead: Overhead,
) -> Fit:
    """Judge one GPU: `memory_gib` as torch sees it, weights of the whole model over `gpus` ranks.

    `cache` is what one rank keeps.
    fits: one full request fits with the safe overhead; borderline: only with the optimistic one.
    """
    weights = None
    if weights_bytes is not None and gpus > 0:
        latent = cache is None or cache.attention in ("mla", "sparse-mla")
        spare = _SPARE_LATENT if latent else _SPARE_HEADS
        weights = weights_gib_per_gpu(
            weights_bytes, gpus=gpus, replicated_bytes=replicated_bytes, spare=spare
        )
    each = None if cache is None else math.ceil(cache.token_bytes(context)) or None
    request = None if cache is None else cache.request_bytes(context)
    missing = [
        what
        for what, known in (
            ("the GPU's memory", memory_gib),
            ("the size of the weights", weights),
            ("what a token takes of the KV cache", cache),
            ("what a request takes of the KV cache", cache is None or request is not None),
        )
        if not known
    ]
    if not memory_gib or not weights or cache is None or request is None:
        return Fit(
            verdict="unknown", reason=f"not known: {', '.join(missing)}", context=context, longest_context=None,
            weights_gib_per_gpu=weights, kv_bytes_per_token=each, needed_gib=None,
            safe_gib=None, optimistic_gib=None, memory_gib=memory_gib, utilisation=utilisation, overhead=overhead,
        )  # fmt: skip
    left = memory_gib * utilisation - weights
    safe, optimistic = left - overhead.safe, left - overhead.optimistic
    longest = _longest_context(safe * GIB, cache, context)
    verdict, reason = _judge(request / GIB, safe, optimistic, context, longest)
    return Fit(
        verdict=verdict, reason=reason, context=context, longest_context=longest, weights_gib_per_gpu=weights,
        kv_bytes_per_token=each, needed_gib=request / GIB, safe_gib=safe, optimistic_gib=optimistic,
        memory_gib=memory_gib, utilisation=utilisation, overhead=overhead,
    )  # fmt: skip


def _judge(
    needed: float, safe: float, optimistic: float, context: int, longest: int | None
) -> tuple[FitVerdict, str]:
    if optimistic <= 0:
        return (
            "does_not_fit",
            "the weights leave no room for a KV cache: more GPUs, or a smaller quantisation",
        )
    asked = f"context {context} needs {needed:.1f} GiB of KV cache"
    if safe >= needed:
        return "fits", f"{asked}, {safe:.1f} GiB are left"
    shorter = f"; context {longest} fits" if longest else ""
    if optimistic >= needed:
        return "borderline", f"{asked}, {safe:.1f} to {optimistic:.1f} GiB are left{shorter}"
    return "does_not_fit", f"{asked}, at most {optimistic:.1f} GiB are left{shorter}"


def _longest_context(room: float, cache: KvCache, context: int) -> int | None:
    """The longest multiple of a block whose request fits into so many bytes; what was asked for where any would."""

    def fits(blocks: int) -> bool:
        request = cache.request_bytes(blocks * BLOCK)
        return request is not None and request <= room

    shortest, longest = 0, 1
    while fits(longest):
        shortest, longest = longest, longest * 2
        if longest * BLOCK > _UNBOUNDED:
            return context
    while longest - shortest > 1:
        middle = (shortest + longest) // 2
        shortest, longest = (middle, longest) if fits(middle) else (shortest, middle)
    return shortest * BLOCK or None
