"""What do hybrids keep whose layers are partly Mamba, linear attention or short convolutions?

A state is of one size for each running sequence: what a convolution looks back on, in the model's dtype, and the
recurrent matrix, in the dtype that the config names for it.
"""

from __future__ import annotations

from orchestrator.engines.kv_cache import CacheLayers
from orchestrator.engines.vllm.sizing import latent
from orchestrator.engines.vllm.sizing.shape import ModelShape, NotKnown
from orchestrator.engines.vllm.sizing.windows import Layers

_DTYPES = {"float32": 4, "bfloat16": 2, "float16": 2}


def qwen3_next(shape: ModelShape) -> Layers:
    """Gated delta nets (Qwen3-Next, 3.5, 3.6); every fourth layer sees everything unless the config says otherwise."""
    count = shape.layers
    kinds = shape.names("layer_types", count)
    if kinds is None:
        every = shape.count("full_attention_interval") or 4
        kinds = [
            "full_attention" if (index + 1) % every == 0 else "linear_attention" for index in range(count)
        ]
    keys = shape.needed("linear_num_key_heads") * shape.needed("linear_key_head_dim")
    value_heads, value = shape.needed("linear_num_value_heads"), shape.needed("linear_value_head_dim")
    convolved = (shape.needed("linear_conv_kernel_dim") - 1) * (2 * keys + value_heads * value)
    matrix = value_heads * value * shape.needed("linear_key_head_dim")
    each = _shared(shape, convolved * 2 + matrix * _recurrent(shape, "mamba_ssm_dtype"))
    return _split(shape, kinds, "full_attention", "linear_attention", each)


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
    heads, state = shape.needed("mamba_num_heads"), shape.needed("ssm_state_size")
    inner, groups = heads * shape.needed("mamba_head_dim"), shape.needed("n_groups")
    groups = -(-groups // shape.question.tensor) * shape.question.tensor
    convolved = (shape.needed("conv_kernel") - 1) * (inner + 2 * groups * state)
    each = _shared(shape, convolved * 2 + inner * state * _mamba2(shape))
    return _split(shape, [kind for kind in kinds if kind not in ("mlp", "moe")], "attention", "mamba", each)


def lfm2(shape: ModelShape) -> Layers:
    """Short convolutions."""
    kinds = shape.names("layer_types", shape.layers) or []
    each = _shared(shape, (shape.needed("conv_L_cache") - 1) * shape.hidden * 2)
    return _split(shape, kinds, "full_attention", "conv", each)


def granite_hybrid(shape: ModelShape) -> Layers:
    """Mamba-2 beside attention; the dense ones have no state at all."""
    kinds = shape.names("layer_types", shape.layers) or shape.names("layers_block_type", shape.layers) or []
    if "mamba" not in kinds:
        return _split(shape, kinds, "attention", "mamba", 0)
    heads, state = shape.needed("mamba_n_heads"), shape.needed("mamba_d_state")
    inner, groups = heads * shape.needed("mamba_d_head"), shape.needed("mamba_n_groups")
    groups = -(-groups // shape.question.tensor) * shape.question.tensor
    convolved = (shape.needed("mamba_d_conv") - 1) * (inner + 2 * groups * state)
    each = _shared(shape, convolved * 2 + inner * state * _recurrent(shape, "mamba_ssm_cache_dtype"))
    return _split(shape, kinds, "attention", "mamba", each)


def kimi_linear(shape: ModelShape) -> Layers:
    """Kimi's delta attention beside MLA; layers are counted from 1 in the config."""
    linear = shape.mapping("linear_attn_config")
    full, delta = linear.get("full_attn_layers"), linear.get("kda_layers")
    if not isinstance(full, list) or not isinstance(delta, list) or len(full) + len(delta) != shape.layers:
        raise NotKnown("linear_attn_config")
    part = ModelShape(linear, shape.model_type, shape.question)
    inner, size = part.needed("num_heads") * part.needed("head_dim"), part.needed("head_dim")
    each = _shared(shape, 3 * (part.needed("short_conv_kernel_size") - 1) * inner * 2 + inner * size * 4)
    kept = latent.latent(
        shape, len(full), shape.needed("kv_lora_rank") + (shape.count("qk_rope_head_dim") or 0)
    )
    return kept, CacheLayers("state", len(delta), each)


def _split(shape: ModelShape, kinds: list[str], full: str, state: str, each: int) -> Layers:
    if not kinds or any(kind not in (full, state) for kind in kinds):
        raise NotKnown("kinds of layers")
    return shape.attention("full", kinds.count(full)), CacheLayers("state", kinds.count(state), each)


def _shared(shape: ModelShape, size: int) -> int:
    """The part of one rank: heads are spread evenly."""
    if size % shape.question.tensor:
        raise NotKnown("tensor parallel size")
    return size // shape.question.tensor


def _recurrent(shape: ModelShape, key: str) -> int:
    """Bytes of a number of the recurrent matrix: the model's dtype where the config names none."""
    named = shape.part.get(key)
    if named is None:
        return 2
    if not isinstance(named, str) or named not in _DTYPES:
        raise NotKnown(key)
    return _DTYPES[named]


def _mamba2(shape: ModelShape) -> int:
    """Where Nemotron-H's config names none, 0.24 and newer take float32, 0.19.1 and older the model's dtype."""
    if shape.has("mamba_ssm_cache_dtype") or not shape.at_least("0.19.2"):
        return _recurrent(shape, "mamba_ssm_cache_dtype")
    if not shape.at_least("0.24"):
        raise NotKnown("mamba_ssm_cache_dtype")
    return 4
