"""What do hybrids keep whose layers are partly linear attention or short convolutions?

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
    each = shared(shape, convolved * 2 + matrix * recurrent(shape, "mamba_ssm_dtype"))
    return split(shape, kinds, "full_attention", "linear_attention", each)


def lfm2(shape: ModelShape) -> Layers:
    """Short convolutions."""
    kinds = shape.names("layer_types", shape.layers) or []
    each = shared(shape, (shape.needed("conv_L_cache") - 1) * shape.hidden * 2)
    return split(shape, kinds, "full_attention", "conv", each)


def kimi_linear(shape: ModelShape) -> Layers:
    """Kimi's delta attention beside MLA; layers are counted from 1 in the config."""
    linear = shape.mapping("linear_attn_config")
    full, delta = linear.get("full_attn_layers"), linear.get("kda_layers")
    if not isinstance(full, list) or not isinstance(delta, list) or len(full) + len(delta) != shape.layers:
        raise NotKnown("linear_attn_config")
    part = ModelShape(linear, shape.model_type, shape.question)
    inner, size = part.needed("num_heads") * part.needed("head_dim"), part.needed("head_dim")
    if shape.question.state_dtype == "float16":
        raise NotKnown("dtype of a state")
    number = recurrent(shape, usual=4)
    each = shared(shape, 3 * (part.needed("short_conv_kernel_size") - 1) * inner * 2 + inner * size * number)
    kept = latent.latent(
        shape, len(full), shape.needed("kv_lora_rank") + (shape.count("qk_rope_head_dim") or 0)
    )
    return kept, CacheLayers("state", len(delta), each)


def bailing_hybrid(shape: ModelShape) -> Layers:
    """Ring and Ling 2.5: linear attention without a convolution, and every so many layers a latent."""
    count, every = shape.layers, shape.count("layer_group_size")
    full = count if every is None else count // every if every else 0
    size = shape.count("head_dim") or shape.hidden // shape.heads
    each = shared(shape, shape.heads * size * size * 2)
    kept = latent.latent(shape, full, shape.needed("kv_lora_rank") + (shape.count("qk_rope_head_dim") or 0))
    return kept, CacheLayers("state", count - full, each)


def split(shape: ModelShape, kinds: list[str], full: str, state: str, each: int) -> Layers:
    if not kinds or any(kind not in (full, state) for kind in kinds):
        raise NotKnown("kinds of layers")
    return shape.attention("full", kinds.count(full)), CacheLayers("state", kinds.count(state), each)


def shared(shape: ModelShape, size: int) -> int:
    """The part of one rank: heads are spread evenly."""
    if size % shape.question.tensor:
        raise NotKnown("tensor parallel size")
    return size // shape.question.tensor


def recurrent(shape: ModelShape, key: str | None = None, usual: int = 2) -> int:
    """Bytes of a number of the recurrent matrix, by what was asked for, by the config's `key`, or as is usual (the model's dtype)."""
    named = shape.question.state_dtype or "auto"
    if named == "auto" and key is not None:
        named = shape.part.get(key) or "auto"
    if named == "auto":
        return usual
    if not isinstance(named, str) or named not in _DTYPES:
        raise NotKnown("dtype of a state")
    return _DTYPES[named]
