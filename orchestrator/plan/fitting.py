"""Does a launch fit into the smallest GPU, and what else would?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.checkpoint import architecture
from orchestrator.engines import sizing
from orchestrator.engines.kv_cache import CacheLayers, CacheQuestion, KvCache
from orchestrator.engines.options import Options
from orchestrator.on_host.checkpoint.configs import CONFIG
from orchestrator.playbook.playbook import Figures, Playbook
from orchestrator.survey.survey import Survey

_DTYPES = {"bf16": "bfloat16", "fp8": "fp8"}
_MOST_RANKS = 64
_UNNAMED_TOKENS = 1 << 20
"""The longest request of a model whose config names none, or is not there yet."""


@dataclass(frozen=True)
class Fitting:
    """What of a launch decides; `dtype` is what its KV cache is stored as, `configs` are the files as they will be.
    `settled`: changes for a failure were made, or one is known of FP8 here, so that it is none to offer."""

    playbook: Playbook
    survey: Survey
    version: str | None
    options: Options
    configs: Mapping[str, bytes]
    dtype: str
    settled: bool = False

    def judged(self) -> sizing.Fit:
        """The judgement, with the longest context of each usual dtype and what would make it fit where it does not."""
        fit = self.at_once()
        if fit.verdict == "unknown":
            return fit
        longest = {name: self._fit(dtype).longest_context for name, dtype in _DTYPES.items()}
        ways = tuple(self._ways(fit)) if fit.verdict != "fits" else ()
        return replace(fit, longest_by_dtype=longest, ways=ways)

    def at_once(self) -> sizing.Fit:
        """The judgement alone. A context that is left to the engine is judged for as many tokens as fit by what is known here."""
        fit = self._fit(self.dtype)
        if self.options.context != "auto":
            return fit
        if fit.verdict != "fits" and fit.longest_context:
            fit = self._fit(self.dtype, context=fit.longest_context)
        return replace(fit, reason=f"the engine takes as many tokens as fit; {fit.reason}")

    def _fit(
        self,
        dtype: str,
        *,
        tensor: int | None = None,
        context_parallel: int | None = None,
        context: int | None = None,
    ) -> sizing.Fit:
        options, facts, figures = self.options, self.survey.facts, self.playbook.figures
        memory_gib = sizing.smallest_memory_gib([card.memory_mib for card in facts.cards])
        ranks = options.ranks if tensor is None else options.ranks // options.tensor * tensor
        return sizing.fit(
            memory_gib=memory_gib,
            weights_bytes=self.survey.checkpoint.weights_bytes or figures.weights_bytes,
            cache=self._cache(
                dtype, tensor or options.tensor, context_parallel or options.context_parallel, memory_gib
            ),
            context=context or self._context,
            utilisation=options.memory_share(self.version),
            gpus=ranks,
            replicated_bytes=figures.replicated_bytes,
            overhead=options.overhead(self.version),
        )

    @property
    def _context(self) -> int:
        """The longest request that there can be."""
        if self.options.context != "auto":
            return self.options.context
        return architecture.read(self._config or {}).max_position_embeddings or _UNNAMED_TOKENS

    @property
    def _config(self) -> Mapping[str, Any] | None:
        """config.json, or what the playbook knows of it; None where neither is there."""
        if CONFIG not in self.configs:
            return self.playbook.figures.config or None
        config: Mapping[str, Any] = json.loads(self.configs[CONFIG])
        return config

    def _cache(self, dtype: str, tensor: int, shared: int, memory_gib: float | None) -> KvCache | None:
        """`shared`: ranks that share a request's tokens."""
        cache = self._whole_cache(dtype, tensor, shared, memory_gib)
        return None if cache is None else cache.of_stage(self.options.ranks // self.options.tensor)

    def _whole_cache(self, dtype: str, tensor: int, shared: int, memory_gib: float | None) -> KvCache | None:
        facts, config = self.survey.facts, self._config
        if config is None:
            return _figured(self.playbook.figures, 1 if dtype.startswith("fp8") else 2, tensor, shared)
        question = CacheQuestion(
            config, self.version, dtype, tensor, shared, facts.compute_cap,
            facts.cards[0].name if facts.cards else None, memory_gib, self.options.step_tokens,
        )  # fmt: skip
        return self.playbook.kind.kv_cache(question)

    def _ways(self, fit: sizing.Fit) -> Iterator[str]:
        """One change each that makes the whole context fit; whether the engine takes it on this card is not asked here."""
        if fit.longest_context:
            yield f"context {fit.longest_context}"
        if not self.settled and self._fit("fp8").verdict == "fits":
            yield "a KV cache in FP8"
        tensor = self.options.tensor
        for ranks in (size for size in range(2, tensor + 1) if tensor % size == 0):
            if self._shares_context and self._fit(self.dtype, context_parallel=ranks).verdict == "fits":
                yield f"decode context parallel {ranks}"
                break
        while (tensor := tensor * 2) <= _MOST_RANKS:
            if self._fit(self.dtype, tensor=tensor).verdict == "fits":
                yield f"tensor parallel {tensor}"
                break

    @property
    def _shares_context(self) -> bool:
        """A latent lies on every rank in full, so that ranks can share a request's tokens instead."""
        cache = self._cache(self.dtype, self.options.tensor, 1, None)
        return cache is not None and cache.attention in ("mla", "sparse-mla")


def _figured(figures: Figures, bytes_each: int, tensor: int, shared: int) -> KvCache | None:
    """Of a playbook's figures: they know models whose layers are alike."""
    if figures.layers and figures.kv_lora_rank and figures.qk_rope_head_dim:
        size = figures.kv_lora_rank + figures.qk_rope_head_dim
        layers = CacheLayers("mla", figures.layers, size * bytes_each, 1, size)
        return KvCache((layers,), context_parallel=shared)
    if figures.layers and figures.kv_heads and figures.head_dim:
        heads, size = max(1, figures.kv_heads // tensor), figures.head_dim
        layers = CacheLayers("full", figures.layers, 2 * heads * size * bytes_each, heads, size)
        return KvCache((layers,), context_parallel=shared if tensor >= figures.kv_heads * shared else 1)
    return None
