"""What does a model keep in vLLM's KV cache on one GPU?

Decided as vLLM decides: by the model class and the text model's type, release by release and, where the layout hangs on
it, by the card. Judged by the tests against figures of vLLM's own.
"""

from __future__ import annotations

from dataclasses import replace

from orchestrator.engines.kv_cache import CacheQuestion, KvCache
from orchestrator.engines.vllm.sizing import classes, heads
from orchestrator.engines.vllm.sizing.dtypes import is_turboquant
from orchestrator.engines.vllm.sizing.families import FAMILIES, Family
from orchestrator.engines.vllm.sizing.latent import deepseek_v4
from orchestrator.engines.vllm.sizing.packed import PackedCache
from orchestrator.engines.vllm.sizing.request import VllmCache
from orchestrator.engines.vllm.sizing.shape import ModelShape, NotKnown, read
from orchestrator.engines.vllm.sizing.windows import Layers

_CHECKPOINTED = frozenset(("falcon_h1", "granitemoehybrid", "kimi_k3", "nemotron_h", "zamba2"))
"""Types whose states are kept in the middle of a prefill too: Mamba-2, and Kimi-K3's delta attention."""


def kv_cache(question: CacheQuestion) -> KvCache | None:
    """Its layers, or None: a class that this version lacks or nobody here knows, a key that is not understood, a tensor
    parallel size that the class refuses."""
    named = question.config.get("architectures")
    if named and not (
        isinstance(named, list) and any(classes.known(str(name), question.version) for name in named)
    ):
        return None
    shape = read(question)
    family = FAMILIES.get(shape.model_type)
    if shape.part.get("is_causal") is False:
        family = heads.nothing
    if family is None or question.tensor < 1:
        return None
    try:
        layers = tuple(kind for kind in _layers(family, shape) if kind.count)
        _assert_shared(shape, layers)
        return _cache(family, shape, layers)
    except NotKnown:
        return None


def _cache(family: Family, shape: ModelShape, layers: Layers) -> KvCache:
    """0.24.0 counts one step and one state; a newer release schedules the next step before the last is done and keeps, beside the
    running state, the last one that a prefix may be resumed from, and with some one of the prefill."""
    question, newer = shape.question, shape.at_least("0.24.1")
    in_flight = (2 if newer else 1) * shape.step_tokens
    if family is deepseek_v4:
        return PackedCache(layers, in_flight if shape.at_least("0.32") else None)
    states = 3 if _CHECKPOINTED & {shape.model_type, str(question.config.get("model_type"))} else 2
    return VllmCache(
        layers,
        in_flight,
        states if newer else 1,
        128 if newer else 64,
        context_parallel=question.context_parallel,
    )


def _layers(family: Family, shape: ModelShape) -> Layers:
    """Of TurboQuant the first two and the last two layers are spared, unless a model has states besides."""
    layers = family(shape)
    if not is_turboquant(shape.question.dtype) or any(kind.kind == "state" for kind in layers):
        return layers
    if len(layers) != 1 or layers[0].count != shape.layers:
        raise NotKnown(shape.question.dtype)
    whole = family(replace(shape, question=replace(shape.question, dtype="auto")))
    spared = 2 * min(2, shape.layers // 2)
    return replace(whole[0], count=spared), replace(layers[0], count=shape.layers - spared)


def _assert_shared(shape: ModelShape, layers: Layers) -> None:
    """Decode context parallelism: no windows; ranks that hold the same, as all do of a latent and some of few KV heads."""
    kinds, ranks, question = {kind.kind for kind in layers}, shape.question.context_parallel, shape.question
    if ranks == 1:
        return
    if kinds & {"window", "chunk", "cross"} or question.tensor % ranks:
        raise NotKnown("decode context parallel size")
    copies = question.tensor if "mla" in kinds else question.tensor // shape.kv_heads
    if copies < ranks or ("mla" not in kinds and shape.heads // shape.kv_heads % ranks):
        raise NotKnown("decode context parallel size")
    if "mla" in kinds and "indexer" in kinds and not question.dtype.startswith("fp8"):
        raise NotKnown("decode context parallel size")  # the sparse kernel of 9.0; others were not asked
