"""What does vLLM keep on a card besides weights and KV cache?

It runs the model once with as many tokens as a step may have, and the sampler with as many sequences; what that took at most,
what CUDA and NCCL hold and, from 0.20 on, what CUDA graphs will take is no room for the cache. The figures here are estimates, judged
by launches that were measured (`tests/engines/measured.yaml`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.engines.kv_cache import CacheQuestion
from orchestrator.engines.sizing import GIB, Overhead
from orchestrator.engines.vllm.memory import at_least, default_sequences, default_step_tokens

_ALONE, _TOGETHER = 0.3, 1.25
"""GiB of CUDA's context and the allocator; of several ranks with NCCL's buffers (0.2 on cards without peer access to 1.8)."""
_GRAPHS = 0.4
"""GiB of CUDA graphs, 0.1 to 0.6 of most models; from 0.20 on they are measured and taken off beforehand (the log says 0.21)."""
_SPARSE = 0.5
"""GiB of an indexer's workspace."""
_LOGIT, _SORTED_LOGIT = 10, 36
"""Bytes of a logit in the sampler at most; through 0.10 it was sorted besides."""
_LESS, _MORE = 1.0, 0.7
"""GiB by which measured launches lay below and above."""
_LEAST = 0.2
_DENSE, _LARGE = (5120, 152_000, 0), (7168, 163_840, 8)
"""Hidden size, vocabulary and experts of a token, where no config says them: of a model of one card, and of several. A playbook may
know of a config only what decides the KV cache."""


@dataclass(frozen=True)
class Profiled:
    """What decides it: the version, ranks that share the model, the card as torch sees it, what was asked of tokens in a step and of
    sequences, whether CUDA graphs are made, the share of the card."""

    version: str | None
    ranks: int
    memory_gib: float | None
    card: str | None
    step_tokens: int | None
    sequences: int | None
    graphs: bool
    share: float


def overhead(config: Mapping[str, Any] | None, launch: Profiled) -> Overhead:
    """By config.json, or without it by a model of a usual size; to a tenth of a GiB. Above 0.93 of the card a GiB more: NCCL's buffers were seen to fail at
    0.95 ("Failed to CUDA calloc")."""
    hidden, vocabulary, experts, sparse = _shape(config, launch.ranks)
    tokens = launch.step_tokens or default_step_tokens(launch.version, launch.memory_gib, launch.card)
    sequences = launch.sequences or default_sequences(launch.version, launch.memory_gib, launch.card)
    logit = _LOGIT if launch.version is None or at_least(launch.version, 0, 11) else _SORTED_LOGIT
    # Of a token: inputs and outputs of the widest layer, about twelve times the hidden size; of each expert its input and output.
    forward = tokens * hidden * 2 * (12 + 2 * experts)
    kept = max(forward, sequences * vocabulary * logit) / GIB + (_ALONE if launch.ranks == 1 else _TOGETHER)
    kept += _SPARSE if sparse else 0
    kept += _GRAPHS if launch.graphs and at_least(launch.version, 0, 20) else 0
    more = 1.0 if launch.share > 0.93 else 0.0
    return Overhead(optimistic=round(max(kept - _LESS, _LEAST) + more, 1), safe=round(kept + _MORE + more, 1))


def _shape(config: Mapping[str, Any] | None, ranks: int) -> tuple[int, int, int, bool]:
    usual = _DENSE if ranks == 1 else _LARGE
    if config is None:
        return (*usual, False)
    from orchestrator.engines.vllm.sizing.shape import NotKnown, read

    shape = read(CacheQuestion(config, None, "auto"))
    try:
        whole = shape.has("vocab_size")
        experts = shape.count("num_experts_per_tok", "num_experts_per_token", "top_k_experts", "moe_topk")
        return (
            shape.hidden,
            shape.needed("vocab_size") if whole else usual[1],
            usual[2] if experts is None and not whole else experts or 0,
            shape.has("index_topk"),
        )
    except NotKnown:
        return (*usual, False)
