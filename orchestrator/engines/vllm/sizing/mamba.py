"""What do hybrids keep whose layers are partly Mamba (1 or 2)?

A state is of one size for each running sequence: what a convolution looks back on and the recurrent matrix.
"""

from __future__ import annotations

from orchestrator.engines.kv_cache import CacheLayers
from orchestrator.engines.vllm.sizing.shape import ModelShape, NotKnown
from orchestrator.engines.vllm.sizing.states import recurrent, shared, split
from orchestrator.engines.vllm.sizing.windows import Layers

_KEYS = ("mamba_n_heads", "mamba_d_head", "mamba_n_groups", "mamba_d_state", "mamba_d_conv")


def jamba(shape: ModelShape) -> Layers:
    """Mamba-1, every so many layers attention."""
    every, first = shape.needed("attn_layer_period"), shape.count("attn_layer_offset") or 0
    kinds = ["attention" if index % every == first else "mamba" for index in range(shape.layers)]
    inner = shape.needed("mamba_expand") * shape.hidden
    convolved = (shape.needed("mamba_d_conv") - 1) * 2
    each = shared(shape, inner * (convolved + shape.needed("mamba_d_state") * recurrent(shape)))
    return split(shape, kinds, "attention", "mamba", each)


def nemotron_h(shape: ModelShape) -> Layers:
    """Mamba-2 (M), attention (*), and layers that keep nothing (- and E)."""
    listed = shape.part.get("layers_block_type")
    kinds = list(listed) if isinstance(listed, list) else []
    pattern = shape.part.get("hybrid_override_pattern")
    if not kinds and isinstance(pattern, str):
        words = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}
        kinds = [words.get(letter, letter) for letter in pattern]
    if not kinds:
        raise NotKnown("layers_block_type")
    keys = ("mamba_num_heads", "mamba_head_dim", "n_groups", "ssm_state_size", "conv_kernel")
    each = _mamba2(shape, keys, _number(shape))
    return split(shape, [kind for kind in kinds if kind not in ("mlp", "moe")], "attention", "mamba", each)


def granite_hybrid(shape: ModelShape) -> Layers:
    """Mamba-2 beside attention; the dense ones have no state at all."""
    kinds = shape.names("layer_types", shape.layers) or shape.names("layers_block_type", shape.layers) or []
    if "mamba" not in kinds:
        return split(shape, kinds, "attention", "mamba", 0)
    each = _mamba2(shape, _KEYS, recurrent(shape, "mamba_ssm_cache_dtype"))
    return split(shape, kinds, "attention", "mamba", each)


def falcon_h1(shape: ModelShape) -> Layers:
    """Each layer has both, Mamba-2 beside attention."""
    inner = shape.count("mamba_d_ssm") or shape.needed("mamba_expand") * shape.hidden
    each = _mamba2(shape, _KEYS, recurrent(shape), inner)
    return shape.attention("full", shape.layers), CacheLayers("state", shape.layers, each)


def zamba2(shape: ModelShape) -> Layers:
    """Mamba-2 in each layer, and in those that are called hybrid attention too, with KV heads as many as attend."""
    kinds = shape.names("layers_block_type", shape.layers) or []
    if not kinds or any(kind not in ("mamba", "hybrid") for kind in kinds):
        raise NotKnown("layers_block_type")
    keys = ("n_mamba_heads", "mamba_headdim", "mamba_ngroups", "mamba_d_state", "mamba_d_conv")
    each = _mamba2(shape, keys, recurrent(shape), shape.needed("mamba_expand") * shape.hidden)
    full = shape.attention(
        "full", kinds.count("hybrid"), kv_heads=shape.heads, size=shape.needed("attention_head_dim")
    )
    return full, CacheLayers("state", shape.layers, each)


def _mamba2(shape: ModelShape, keys: tuple[str, ...], number: int, inner: int | None = None) -> int:
    """Bytes of a state on one rank. `keys`: of heads, their size, groups, the state's size and the convolution's; `number`: bytes
    of a number of the matrix; `inner`: what is convolved, where that is not what the heads have together."""
    heads, size, groups, state, kernel = (shape.needed(key) for key in keys)
    ranks = shape.question.tensor
    if heads % ranks:
        raise NotKnown("tensor parallel size")
    groups = -(-groups // ranks) * ranks
    convolved = (kernel - 1) * ((inner or heads * size) + 2 * groups * state)
    return shared(shape, convolved * 2 + heads * size * state * number)


def _number(shape: ModelShape) -> int:
    """Where Nemotron-H's config names none, 0.24 and newer take float32, 0.19.1 and older the model's dtype."""
    asked = (shape.question.state_dtype or "auto") != "auto"
    if asked or shape.has("mamba_ssm_cache_dtype") or not shape.at_least("0.19.2"):
        return recurrent(shape, "mamba_ssm_cache_dtype")
    if not shape.at_least("0.24"):
        raise NotKnown("mamba_ssm_cache_dtype")
    return 4
