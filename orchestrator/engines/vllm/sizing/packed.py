"""How many bytes does vLLM want for one request of DeepSeek-V4?

Its layers keep pages of five sizes. vLLM packs a page of each layer of a group into one block, as large as the widest
group, and splits layers of one kind over groups so that little is padded (`_get_packed_kv_cache_groups`, 0.32.0).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.engines.kv_cache import CacheLayers, KvCache

_ALIGNMENT = 576
"""Bytes that a page is a multiple of."""
_TOKENS = 256
"""Of a block of what keeps every token."""


@dataclass(frozen=True)
class PackedCache(KvCache):
    """`in_flight`: tokens that are scheduled at once; None where the release packs in a way that was not read."""

    in_flight: int | None

    def request_bytes(self, context: int) -> int | None:
        windows = self._windows()
        if self.in_flight is None or not all(windows.values()):
            return None
        repeats = _repeats([kinds[0].count for kinds in windows.values()], windows[4][0].count)
        widest = sum(
            _page(layers, _TOKENS) * layers.count for layers in self.layers if layers.kind != "window"
        )
        blocks = math.ceil(context / _TOKENS)
        for tokens, kinds in windows.items():
            groups = math.ceil(kinds[0].count / repeats)
            reach = min((kinds[0].tokens or 0) - 1 + self.in_flight, context)
            blocks += groups * (math.ceil(reach / tokens) + 1)
            widest = max(
                widest, sum(_page(layers, tokens) * math.ceil(layers.count / groups) for layers in kinds)
            )
        return widest * blocks

    def _windows(self) -> Mapping[int, Sequence[CacheLayers]]:
        """By the tokens of their blocks: the window that every layer has, and what is being pressed by 4 and by 128."""
        windows = [layers for layers in self.layers if layers.kind == "window"]
        return {
            64: [layers for layers in windows if layers.tokens != 8 and layers.each < 1024],
            4: [layers for layers in windows if layers.tokens == 8],
            8: [layers for layers in windows if layers.tokens != 8 and layers.each >= 1024],
        }


def _page(layers: CacheLayers, tokens: int) -> int:
    return math.ceil(layers.each * tokens / _ALIGNMENT) * _ALIGNMENT


def _repeats(counts: Sequence[int], lowest: int) -> int:
    """Layers of a group: so many that least is padded, of two numbers the larger. `lowest`: of the kind that has pages of
    two sizes and stays whole."""
    return min(
        range(lowest, max(counts) + 1), key=lambda size: (sum(-count % size for count in counts), -size)
    )
