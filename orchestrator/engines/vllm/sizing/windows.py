"""Which layers of a model with keys and values by head see the whole context, which a window?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator.engines.kv_cache import CacheLayers
from orchestrator.engines.vllm.sizing.shape import ModelShape, NotKnown

Layers = tuple[CacheLayers, ...]

_FULL = frozenset(
    ("full_attention", "attention", "indexed_attention", "deepseek_sparse_attention", "qwen_sparse_attention")
)
"""What vLLM's `_ATTENTION_LAYER_TYPES` and its classes take for layers that keep every token."""
_SLIDING = "sliding_attention"


def uniform(shape: ModelShape) -> Layers:
    """All layers alike: `sliding_window` holds for each of them unless `layer_types` names others."""
    count, window = shape.layers, _window(shape)
    kinds = shape.names("layer_types", count)
    if kinds is not None:
        sliding = _counted(kinds)
        if 0 < sliding < count:
            raise NotKnown("layer_types")
        window = window if sliding else None
    if window is None:
        return (shape.attention("full", count),)
    return (shape.attention("window", count, tokens=window),)


def qwen(shape: ModelShape) -> Layers:
    """Qwen's config classes drop the window unless `use_sliding_window` is true."""
    if shape.part.get("use_sliding_window"):
        return uniform(shape) if not shape.count("max_window_layers") else _unknown("max_window_layers")
    return (shape.attention("full", shape.layers),)


def by_layer(shape: ModelShape) -> Layers:
    """Classes that look up each layer in `layer_types`; without it all are alike."""
    kinds = shape.names("layer_types", shape.layers)
    return uniform(shape) if kinds is None else mixed(shape, kinds)


def mixed(shape: ModelShape, kinds: Sequence[Any], more: int = 0) -> Layers:
    """`more`: by how many tokens the class's windows are longer than the config's."""
    sliding = _counted(kinds)
    full = len(kinds) - sliding
    layers: Layers = (shape.attention("full", full),)
    if sliding:
        layers += (shape.attention("window", sliding, tokens=shape.needed("sliding_window") + more),)
    return layers


def every_other(shape: ModelShape) -> Layers:
    """Gemma 2 and gpt-oss begin with a window and take turns, whatever `layer_types` is left out."""
    kinds = shape.names("layer_types", shape.layers)
    turns = [_SLIDING if index % 2 == 0 else "full_attention" for index in range(shape.layers)]
    return mixed(shape, turns if kinds is None or shape.model_type == "gpt_oss" else kinds)


def cohere2(shape: ModelShape) -> Layers:
    """A window of Cohere's reaches one token further than the config says."""
    kinds = shape.names("layer_types", shape.layers)
    return mixed(shape, kinds if kinds is not None else _pattern(shape, 4), more=1)


def patterned(shape: ModelShape) -> Layers:
    """Every so many layers one sees everything; the config classes make `layer_types` of it."""
    kinds = shape.names("layer_types", shape.layers)
    return mixed(
        shape, kinds if kinds is not None else _pattern(shape, 6 if shape.model_type == "gemma3_text" else 4)
    )


def gemma4(shape: ModelShape) -> Layers:
    """Layers of the whole context have heads of their own; the last ones may use an earlier layer's cache."""
    count = shape.layers
    kinds = shape.names("layer_types", count) or _unknown("layer_types")
    kinds = kinds[: count - (shape.count("num_kv_shared_layers") or 0)]
    sliding = _counted(kinds)
    heads = shape.count("num_global_key_value_heads") if shape.part.get("attention_k_eq_v") else None
    full = shape.attention("full", len(kinds) - sliding, kv_heads=heads, size=shape.count("global_head_dim"))
    window = shape.attention("window", sliding, tokens=shape.needed("sliding_window"))
    return full, window


def listed(shape: ModelShape) -> Layers:
    """`layer_types` says it or nothing does; the last layers may use an earlier one's cache (Gemma 3n)."""
    if shape.has("sliding_windows"):
        raise NotKnown("sliding_windows")
    count = shape.layers
    kinds = shape.names("layer_types", count) or _unknown("layer_types")
    shared = shape.needed("num_kv_shared_layers") if shape.model_type == "gemma3n_text" else 0
    return mixed(shape, kinds[: max(count - shared, 0)])


def step3p5(shape: ModelShape) -> Layers:
    """Windows have heads of their own where `attention_other_setting` says so; KV heads are called groups."""
    kinds = shape.names("layer_types", shape.layers) or _unknown("layer_types")
    sliding, own = _counted(kinds), shape
    if shape.has("attention_other_setting"):
        other = shape.mapping("attention_other_setting")
        if other.get("attention_type") != _SLIDING:
            raise NotKnown("attention_other_setting")
        own = ModelShape({**shape.part, **other}, shape.model_type, shape.question)
    groups, window = own.needed("num_attention_groups"), shape.needed("sliding_window")
    full = shape.attention("full", len(kinds) - sliding, kv_heads=shape.needed("num_attention_groups"))
    return full, own.attention("window", sliding, kv_heads=groups, tokens=window)


def llama4(shape: ModelShape) -> Layers:
    """Layers without rotary embedding see everything, the others a chunk."""
    count, chunk = shape.layers, shape.count("attention_chunk_size")
    rope = shape.names("no_rope_layers", count)
    if not rope:
        interval = shape.count("no_rope_layer_interval") or 4
        rope = [int((index + 1) % interval != 0) for index in range(count)]
    chunked = sum(bool(flag) for flag in rope) if chunk else 0
    return shape.attention("full", count - chunked), shape.attention("chunk", chunked, tokens=chunk)


def mimo_v2(shape: ModelShape) -> Layers:
    """Two kinds of layers, each with heads of its own, and values shorter than keys.

    0.19.1 and older pad the values; the cache's dtype reaches the layers in 0.32 and not yet in 0.24.0.
    """
    pattern = shape.names("hybrid_layer_pattern", shape.layers) or _unknown("hybrid_layer_pattern")
    if any(flag not in (0, 1) for flag in pattern):
        raise NotKnown("hybrid_layer_pattern")
    sliding = pattern.count(1)
    padded = not shape.at_least("0.19.2")
    dtype = shape.question.dtype if shape.at_least("0.32") else "auto"
    if shape.at_least("0.19.2") and not shape.at_least("0.24"):
        raise NotKnown("layout between 0.19.1 and 0.24.0")
    if dtype != shape.question.dtype and shape.at_least("0.24.1"):
        raise NotKnown("layout between 0.24.0 and 0.32.0")
    full = shape.attention(
        "full", len(pattern) - sliding, size=shape.needed("head_dim"),
        value_size=None if padded else shape.needed("v_head_dim"), dtype=dtype,
    )  # fmt: skip
    window = shape.attention(
        "window", sliding, kv_heads=shape.needed("swa_num_key_value_heads"), size=shape.needed("swa_head_dim"),
        value_size=None if padded else shape.needed("swa_v_head_dim"),
        tokens=shape.needed("sliding_window_size", "sliding_window"), dtype=dtype,
    )  # fmt: skip
    return full, window


def _window(shape: ModelShape) -> int | None:
    if shape.part.get("use_sliding_window") is False and shape.has("sliding_window"):
        raise NotKnown("use_sliding_window")
    return shape.count("sliding_window") or None


def _counted(kinds: Sequence[Any]) -> int:
    if any(not isinstance(kind, str) or (kind != _SLIDING and kind not in _FULL) for kind in kinds):
        raise NotKnown("layer_types")
    return sum(kind == _SLIDING for kind in kinds)


def _pattern(shape: ModelShape, usual: int) -> list[str]:
    every = shape.count("sliding_window_pattern", "global_attn_every_n_layers") or usual
    return ["full_attention" if (index + 1) % every == 0 else _SLIDING for index in range(shape.layers)]


def _unknown(key: str) -> Any:
    raise NotKnown(key)
