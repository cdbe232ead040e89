"""What does a model keep in an engine's KV cache on one GPU: for each token, for each request?

An engine answers with a `KvCache` (`Engine.kv_cache`), or with None where it is not known; 0 is no way to say that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from typing_extensions import Self

CacheKind = Literal["full", "mla", "indexer", "window", "chunk", "state", "cross"]
"""full, mla (one latent vector a token) and indexer (keys by which tokens are chosen) keep every token; window and chunk
about so many of a request; state (Mamba, linear attention) is of one size for each running sequence; cross keeps what an
encoder read."""
_ALWAYS: frozenset[CacheKind] = frozenset(("full", "mla", "indexer"))
BLOCK = 16
"""Tokens are given out in blocks of this many."""


@dataclass(frozen=True)
class CacheQuestion:
    """What decides it: config.json as parsed, the engine's version, the dtype of the cache by the engine's name ("auto" is
    the model's own), GPUs that share a layer and those of them that share a request's tokens, the card with its compute
    capability ("9.0") and memory (GiB as torch sees it), tokens computed in one step at most where that was asked for, and
    the dtype of the recurrent part of a state, likewise."""

    config: Mapping[str, Any]
    version: str | None
    dtype: str
    tensor: int = 1
    context_parallel: int = 1
    compute_cap: str | None = None
    card: str | None = None
    memory_gib: float | None = None
    step_tokens: int | None = None
    state_dtype: str | None = None


@dataclass(frozen=True)
class CacheLayers:
    """`count` layers of one kind on one rank. `each`: bytes a token and layer, of a state bytes a sequence and layer.

    `heads` and `size`: KV heads on the rank and elements of one; None for a state. `tokens`: how far a window or a chunk
    reaches, or how many tokens an encoder gives.
    """

    kind: CacheKind
    count: int
    each: float
    heads: int | None = None
    size: int | None = None
    tokens: int | None = None

    def keeps(self, context: int) -> bool:
        """Whether a request of so many tokens has all of them here."""
        return self.kind in _ALWAYS or (self.kind == "window" and (self.tokens or 0) >= context)


Attention = Literal["mla", "sparse-mla", "gqa", "hybrid", "sliding", "other"]


@dataclass(frozen=True)
class KvCache:
    """All layers that keep something; none for a model that keeps nothing, such as an encoder that embeds.
    `context_parallel`: ranks that share a request's tokens, where its layers keep all of them."""

    layers: tuple[CacheLayers, ...]
    context_parallel: int = field(default=1, kw_only=True)

    @property
    def attention(self) -> Attention:
        """The model's kind of attention, as patches ask for it: "hybrid" has states, "sliding" windows or chunks beside
        keys and values by head ("gqa"); "other" keeps nothing."""
        kinds = {layers.kind for layers in self.layers}
        if "state" in kinds:
            return "hybrid"
        if "mla" in kinds:
            return "sparse-mla" if "indexer" in kinds else "mla"
        if kinds & {"window", "chunk"}:
            return "sliding"
        return "gqa" if "full" in kinds else "other"

    def of_stage(self, stages: int) -> Self:
        """What the fullest of so many pipeline stages keeps, where each kind of layer is spread evenly over them."""
        return replace(
            self, layers=tuple(replace(each, count=math.ceil(each.count / stages)) for each in self.layers)
        )

    def token_bytes(self, context: int) -> float:
        """Bytes that each further token takes, of a request of so many; windows that reach as far count."""
        return sum(layers.count * layers.each for layers in self.layers if layers.keeps(context))

    def request_bytes(self, context: int) -> int | None:
        """Bytes that one rank keeps of a request of so many tokens; None where that is not known.

        An engine that hands out pages by a plan of its own says so itself; this is the sum over plain blocks.
        """
        blocks = math.ceil(context / self.context_parallel / BLOCK)
        return math.ceil(blocks * BLOCK * self.token_bytes(context))
