"""Does a launch fit into the smallest GPU, and what else would?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from orchestrator.checkpoint import architecture
from orchestrator.engines import sizing
from orchestrator.engines.kv_cache import CacheLayers, CacheQuestion, KvCache
from orchestrator.engines.options import Option, Options
from orchestrator.on_host.checkpoint.configs import CONFIG
from orchestrator.plan import known
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
        longest = {name: replace(self, dtype=dtype)._fit().longest_context for name, dtype in _DTYPES.items()}
        ways = tuple(self._ways(fit)) if fit.verdict != "fits" else ()
        return replace(fit, longest_by_dtype=longest, ways=ways)

    def at_once(self) -> sizing.Fit:
        """The judgement alone. A context that is left to the engine is judged for as many tokens as fit by what is known here."""
        fit = self._fit()
        if self.options.context != "auto":
            return fit
        if fit.verdict != "fits" and fit.longest_context:
            fit = self._fit(fit.longest_context)
        return replace(fit, reason=f"the engine takes as many tokens as fit; {fit.reason}")

    def _fit(self, context: int | None = None) -> sizing.Fit:
        options, cards, figures = self.options, self.survey.facts.cards, self.playbook.figures
        memory_gib = sizing.smallest_memory_gib([card.memory_mib for card in cards])
        card = cards[0].name if cards else None
        return sizing.fit(
            memory_gib=memory_gib,
            weights_bytes=self.survey.checkpoint.weights_bytes or figures.weights_bytes,
            cache=self._cache(memory_gib, card),
            context=context or self._context,
            utilisation=options.memory_share(self.version),
            gpus=options.ranks,
            replicated_bytes=figures.replicated_bytes,
            overhead=options.overhead(self.version, self._config, memory_gib, card),
        )

    @property
    def _context(self) -> int:
        """The longest request that there can be."""
        if self.options.context != "auto":
            return self.options.context
        return architecture.read(self._config or {}).max_position_embeddings or _UNNAMED_TOKENS

    @property
    def _config(self) -> Mapping[str, Any] | None:
        return config_of(self.playbook, self.configs)

    def _cache(self, memory_gib: float | None, card: str | None) -> KvCache | None:
        """What the fullest of the pipeline stages keeps."""
        options, config = self.options, self._config
        if config is None:
            cache = _figured(self.playbook.figures, 1 if self.dtype.startswith("fp8") else 2, options)
        else:
            question = CacheQuestion(
                config, self.version, self.dtype, options.tensor, options.context_parallel, self.survey.facts.compute_cap,
                card, memory_gib, options.step_tokens, options.state_dtype,
            )  # fmt: skip
            cache = self.playbook.kind.kv_cache(question)
        return None if cache is None else cache.of_stage(options.ranks // options.tensor)

    def _ways(self, fit: sizing.Fit) -> Iterator[sizing.WayToFit]:
        """One change each that makes the whole context fit, and that this release takes on this card."""
        if fit.longest_context:
            yield sizing.WayToFit(f"context {fit.longest_context}", (f"context={fit.longest_context}",))
        if not self.settled and self.keeps_fp8 and replace(self, dtype="fp8")._fit().verdict == "fits":
            yield sizing.WayToFit("a KV cache in FP8", (f"arguments.{self.options.kv_dtype_option}=fp8",))
        yield from self._shared_contexts()
        yield from self._wider()

    @property
    def keeps_fp8(self) -> bool:
        """Whether this release is known to take a KV cache in FP8 for this model on this card."""
        facts = self.survey.facts
        attention = known.attention(self.playbook, self.configs, self.version)
        return self.options.keeps_fp8(self.version, attention, facts.compute_cap)

    def _shared_contexts(self) -> Iterator[sizing.WayToFit]:
        option, tensor = self.options.context_parallel_option, self.options.tensor
        if option is None:
            return
        for ranks in (size for size in range(2, tensor + 1) if tensor % size == 0):
            if self._fits_with(option, ranks):
                yield sizing.WayToFit(f"decode context parallel {ranks}", (f"arguments.{option}={ranks}",))
                return

    def _wider(self) -> Iterator[sizing.WayToFit]:
        options, tensor, there = self.options, self.options.tensor, len(self.survey.facts.cards)
        while (tensor := tensor * 2) <= _MOST_RANKS:
            if self._fits_with(options.tensor_option, tensor):
                gpus = options.gpus // options.tensor * tensor
                missing = gpus if gpus > there else None
                settings = wider(self.playbook, tensor, gpus)
                yield sizing.WayToFit(f"tensor parallel {tensor}", settings, missing)
                return

    def _fits_with(self, option: str, value: int) -> bool:
        """Whether it would fit with this option, which the release takes."""
        changed = self.options.changed({option: Option(value, "option")})
        refused = changed.objections(self.version) if self.version else ()
        if any(objection.option == option for objection in refused):
            return False
        return replace(self, options=changed)._fit().verdict == "fits"


def config_of(playbook: Playbook, configs: Mapping[str, bytes]) -> Mapping[str, Any] | None:
    """config.json, or what the playbook knows of it; None where neither is there."""
    if CONFIG not in configs:
        return playbook.figures.config or None
    return _parsed(configs[CONFIG])


@lru_cache(maxsize=2)
def _parsed(config: bytes) -> Mapping[str, Any]:
    """Once: some are megabytes long, and each way is judged by it."""
    parsed: Mapping[str, Any] = json.loads(config)
    return parsed


def wider(playbook: Playbook, tensor: int, gpus: int) -> tuple[str, ...]:
    """What --set takes to spread each layer over so many GPUs, of so many in all."""
    needs = playbook.needs.gpus
    return (f"parallel.tensor={tensor}", *((f"needs.gpus={gpus}",) if needs and needs < gpus else ()))


def _figured(figures: Figures, bytes_each: int, options: Options) -> KvCache | None:
    """Of a playbook's figures: they know models whose layers are alike."""
    tensor, shared = options.tensor, options.context_parallel
    if figures.layers and figures.kv_lora_rank and figures.qk_rope_head_dim:
        size = figures.kv_lora_rank + figures.qk_rope_head_dim
        layers = CacheLayers("mla", figures.layers, size * bytes_each, 1, size)
        return KvCache((layers,), context_parallel=shared)
    if figures.layers and figures.kv_heads and figures.head_dim:
        heads, size = max(1, figures.kv_heads // tensor), figures.head_dim
        layers = CacheLayers("full", figures.layers, 2 * heads * size * bytes_each, heads, size)
        return KvCache((layers,), context_parallel=shared if tensor >= figures.kv_heads * shared else 1)
    return None
