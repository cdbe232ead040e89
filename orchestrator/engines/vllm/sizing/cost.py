"""What does a model keep in vLLM's KV cache on one GPU?

Decided as vLLM decides: by the model class and the text model's type, release by release and, where the layout hangs on
it, by the card. Judged by the tests against figures of vLLM's own.
"""

from __future__ import annotations

from orchestrator.engines.kv_cache import CacheQuestion, KvCache
from orchestrator.engines.vllm.sizing import classes, heads
from orchestrator.engines.vllm.sizing.families import FAMILIES
from orchestrator.engines.vllm.sizing.latent import deepseek_v4
from orchestrator.engines.vllm.sizing.packed import PackedCache
from orchestrator.engines.vllm.sizing.request import VllmCache
from orchestrator.engines.vllm.sizing.shape import NotKnown, read

_CHECKPOINTED = frozenset(("nemotron_h", "granitemoehybrid", "kimi_k3"))
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
        # 0.24.0 counts one step; a newer release schedules the next one before the last is done.
        steps = 1 if not shape.at_least("0.24.1") else 2
        layers = tuple(kind for kind in family(shape) if kind.count)
        in_flight = steps * shape.step_tokens
        if family is deepseek_v4:
            return PackedCache(layers, in_flight if shape.at_least("0.32") else None)
        # Beside the running state the last one that a prefix may be resumed from, and with some one of the prefill.
        states = 3 if _CHECKPOINTED & {shape.model_type, str(question.config.get("model_type"))} else 2
        return VllmCache(layers, in_flight, states)
    except NotKnown:
        return None
