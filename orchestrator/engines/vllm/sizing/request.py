"""How many bytes of KV cache does vLLM want for one request of a context's length?

Its start-up check: layers of different kinds are split into groups of equally many, each group takes pages of one size
out of one pool, and a request claims whole pages of every group (`v1/core/kv_cache_utils.py`, 0.32.0).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.engines.kv_cache import BLOCK, CacheLayers, KvCache


@dataclass(frozen=True)
class VllmCache(KvCache):
    """`in_flight`: tokens that are scheduled at once; what a window has left behind is freed only once they are done.
    `states`: of one request and layer; `latent_block`: where a state makes a latent's blocks long, they are multiples of this."""

    in_flight: int
    states: int
    latent_block: int

    def request_bytes(self, context: int) -> int | None:
        if not self.layers:
            return 0
        share = math.ceil(context / self.context_parallel)
        if all(layers.kind in ("full", "mla", "indexer") for layers in self.layers):
            return (
                math.ceil(share / BLOCK) * BLOCK * sum(round(each.count * each.each) for each in self.layers)
            )
        pages = self._pages()
        page = max(size for _, size in pages)
        counts = [layers.count for layers in self.layers]
        group = max(counts) if max(counts) < min(counts) * 1.5 else min(counts)
        return (
            page
            * group
            * sum(
                math.ceil(layers.count / group) * self._blocks(layers, tokens * page // size, context, share)
                for layers, (tokens, size) in zip(self.layers, pages, strict=True)
            )
        )

    def _pages(self) -> Sequence[tuple[int, int]]:
        """Tokens and bytes of a page of each kind; beside a state, pages of attention are made as large as the state is."""
        state = max((int(layers.each) for layers in self.layers if layers.kind == "state"), default=0)
        tokens = BLOCK
        for layers in self.layers:
            if state and layers.kind != "state":
                step = self.latent_block if layers.kind == "mla" else BLOCK
                tokens = max(tokens, math.ceil(state / layers.each / step) * step)
        sizes = [tokens * int(layers.each) for layers in self.layers if layers.kind != "state"]
        return [
            (tokens, max(sizes, default=state) if layers.kind == "state" else tokens * int(layers.each))
            for layers in self.layers
        ]

    def _blocks(self, layers: CacheLayers, tokens: int, context: int, share: int) -> int:
        """Pages of one group that a request claims, of so many tokens each."""
        if layers.kind == "state":
            return self.states
        reach = layers.tokens or 0
        if layers.kind == "window":
            return math.ceil(min(reach - 1 + self.in_flight, context) / tokens) + 1
        if layers.kind == "chunk":
            return math.ceil(min(reach + self.in_flight, context) / tokens)
        return math.ceil((reach if layers.kind == "cross" else share) / tokens)
