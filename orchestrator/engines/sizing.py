"""Will the weights and the KV cache of one full request fit into a GPU's memory?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

GIB = 2**30
TORCH_SHARE = 0.9935
"""torch sees 94.97 GiB of the 97887 MiB that nvidia-smi names for an RTX PRO 6000."""
BLOCK = 16
"""Tokens are given out in blocks of this many."""

FitVerdict = Literal["fits", "borderline", "does_not_fit", "unknown"]


@dataclass(frozen=True)
class Overhead:
    """GiB of one GPU that are neither weights nor KV cache: context, NCCL, activations, CUDA graphs."""

    optimistic: float
    safe: float


@dataclass(frozen=True)
class Fit:
    """The judgement for one GPU, the smallest of the host, and the numbers behind it (GiB, tokens, bytes)."""

    verdict: FitVerdict
    reason: str
    context: int
    longest_context: int | None
    """The longest context that fits safely, a multiple of 16; None where nothing fits or nothing is known."""
    weights_gib_per_gpu: float | None
    kv_bytes_per_token: int | None
    needed_gib: float | None
    """KV cache of one request of the full context."""
    safe_gib: float | None
    """What is left for KV cache with the safe overhead; `optimistic_gib` with the optimistic one."""
    optimistic_gib: float | None
    memory_gib: float | None
    utilisation: float

    def as_json(self) -> dict[str, Any]:
        weights = self.weights_gib_per_gpu
        return {
            "verdict": self.verdict,
            "reason": self.reason,
            "max_model_len": self.longest_context,
            "weights_gib_per_gpu": None if weights is None else round(weights, 2),
            "kv_bytes_per_token": self.kv_bytes_per_token,
        }


def smallest_memory_gib(memory_mib: Sequence[int | None]) -> float | None:
    """GiB that torch will see on the smallest GPU, from nvidia-smi's MiB; None if one is not known.

    Every tensor-parallel rank needs the same, so the smallest GPU decides.
    """
    known = [mib for mib in memory_mib if mib is not None]
    if not known or len(known) < len(memory_mib):
        return None
    return min(known) * TORCH_SHARE / 1024


def mla_bytes_per_token(*, layers: int, kv_lora_rank: int, qk_rope_head_dim: int, bytes_each: float) -> int:
    """KV cache bytes a token on each GPU for multi-head latent attention; `bytes_each` is 2 for bf16, 1 for FP8.

    There is one KV head, so that every tensor-parallel rank holds a full copy.
    """
    return math.ceil(layers * (kv_lora_rank + qk_rope_head_dim) * bytes_each)


def gqa_bytes_per_token(*, layers: int, kv_heads: int, head_dim: int, tensor: int, bytes_each: float) -> int:
    """KV cache bytes a token on each GPU for grouped-query attention; heads are split down to one a rank."""
    return math.ceil(2 * max(1, kv_heads // tensor) * head_dim * layers * bytes_each)


def weights_gib_per_gpu(weights_bytes: int, *, gpus: int, replicated_bytes: int | None) -> float:
    """GiB of weights on each of `gpus` ranks, of which `replicated_bytes` are on every rank in full.

    Where the replicated part is not known, 2.5 % are added for it and for repacked scales.
    """
    if replicated_bytes is None:
        share = weights_bytes / gpus * (1.025 if gpus > 1 else 1.0)
    else:
        share = (weights_bytes - replicated_bytes) / gpus + replicated_bytes
    return share / GIB


def fit(
    *,
    memory_gib: float | None,
    weights_bytes: int | None,
    kv_bytes_per_token: int | None,
    context: int,
    utilisation: float,
    gpus: int = 1,
    replicated_bytes: int | None = None,
    context_parallel: int = 1,
    overhead: Overhead,
) -> Fit:
    """Judge one GPU: `memory_gib` as torch sees it, weights of the whole model over `gpus` ranks.

    `kv_bytes_per_token` is for one rank; `context_parallel` divides it.
    fits: one full request fits with the safe overhead; borderline: only with the optimistic one.
    """
    weights = None
    if weights_bytes is not None and gpus > 0:
        weights = weights_gib_per_gpu(weights_bytes, gpus=gpus, replicated_bytes=replicated_bytes)
    missing = [
        what
        for what, known in (
            ("the GPU's memory", memory_gib),
            ("the size of the weights", weights),
            ("the KV cache's bytes a token", kv_bytes_per_token),
        )
        if not known
    ]
    if not memory_gib or not weights or not kv_bytes_per_token:
        return Fit(
            verdict="unknown", reason=f"not known: {', '.join(missing)}", context=context, longest_context=None,
            weights_gib_per_gpu=weights, kv_bytes_per_token=kv_bytes_per_token, needed_gib=None,
            safe_gib=None, optimistic_gib=None, memory_gib=memory_gib, utilisation=utilisation,
        )  # fmt: skip
    left = memory_gib * utilisation - weights
    safe, optimistic = left - overhead.safe, left - overhead.optimistic
    needed = context * kv_bytes_per_token / context_parallel / GIB
    longest = _longest_context(safe, kv_bytes_per_token / context_parallel)
    verdict, reason = _judge(needed, safe, optimistic, context, longest)
    return Fit(
        verdict=verdict, reason=reason, context=context, longest_context=longest, weights_gib_per_gpu=weights,
        kv_bytes_per_token=kv_bytes_per_token, needed_gib=needed, safe_gib=safe, optimistic_gib=optimistic,
        memory_gib=memory_gib, utilisation=utilisation,
    )  # fmt: skip


def _judge(
    needed: float, safe: float, optimistic: float, context: int, longest: int | None
) -> tuple[FitVerdict, str]:
    if optimistic <= 0:
        return (
            "does_not_fit",
            "the weights leave no room for a KV cache: more GPUs, or a smaller quantisation",
        )
    demand = f"context {context} needs {needed:.1f} GiB of KV cache"
    if safe >= needed:
        return "fits", f"{demand}, {safe:.1f} GiB are left"
    shorter = f"; context {longest} fits" if longest else ""
    if optimistic >= needed:
        return "borderline", f"{demand}, {safe:.1f} to {optimistic:.1f} GiB are left{shorter}"
    return "does_not_fit", f"{demand}, at most {optimistic:.1f} GiB are left{shorter}"


def _longest_context(gib: float, bytes_per_token: float) -> int | None:
    blocks = math.floor(gib * GIB / bytes_per_token / BLOCK)
    return blocks * BLOCK if blocks > 0 else None
