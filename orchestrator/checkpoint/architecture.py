"""What kind of attention does a checkpoint have, as far as its config.json tells?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

_LARGEST = 1 << 40
Attention = Literal["mla", "sparse-mla", "gqa", "hybrid", "sliding", "other"]


@dataclass(frozen=True)
class Architecture:
    """The shape of a model; None where config.json does not say.

    `attention`: "mla" and "sparse-mla" (DeepSeek's indexer) keep one latent vector a token, "gqa" keys
    and values per KV head; "hybrid" mixes full attention with linear or Mamba layers, "sliding" with
    layers that see a window; "other" is not understood here.
    """

    model_type: str
    attention: Attention
    layers: int | None
    kv_layers: int | None
    """Layers that keep keys and values for the whole context."""
    heads: int | None
    kv_heads: int | None
    head_dim: int | None
    hidden_size: int | None
    kv_lora_rank: int | None
    qk_rope_head_dim: int | None
    max_position_embeddings: int | None
    dtype: str | None


def read(config: Mapping[str, Any]) -> Architecture:
    """The architecture from a parsed config.json; the language model's part wins over the wrapper's."""
    text = config.get("text_config")
    part: Mapping[str, Any] = {**config, **text} if isinstance(text, dict) else config
    heads, hidden = _int(part, "num_attention_heads"), _int(part, "hidden_size")
    layers = _int(part, "num_hidden_layers")
    head_dim = _int(part, "head_dim") or (hidden // heads if hidden and heads else None)
    kv_layers = _full_attention_layers(part, layers)
    dtype = part.get("dtype") or part.get("torch_dtype")
    return Architecture(
        model_type=str(config.get("model_type", "")),
        attention=_attention(part, layers, kv_layers, head_dim),
        layers=layers,
        kv_layers=kv_layers,
        heads=heads,
        kv_heads=_int(part, "num_key_value_heads") or heads,
        head_dim=head_dim,
        hidden_size=hidden,
        kv_lora_rank=_int(part, "kv_lora_rank"),
        qk_rope_head_dim=_int(part, "qk_rope_head_dim"),
        max_position_embeddings=_int(part, "max_position_embeddings"),
        dtype=dtype if isinstance(dtype, str) else None,
    )


def _attention(
    part: Mapping[str, Any], layers: int | None, kv_layers: int | None, head_dim: int | None
) -> Attention:
    if layers is None or kv_layers is None:
        return "other"
    if kv_layers < layers and _slides(part):
        return "sliding"
    if kv_layers < layers:
        return "hybrid"
    if _int(part, "kv_lora_rank"):
        return "sparse-mla" if part.get("index_topk") else "mla"
    return "gqa" if head_dim else "other"


def _full_attention_layers(part: Mapping[str, Any], layers: int | None) -> int | None:
    kinds, pattern = part.get("layer_types"), part.get("hybrid_override_pattern")
    linear = part.get("linear_attn_config")
    interval = _int(part, "full_attention_interval")
    if isinstance(kinds, list) and kinds:
        return kinds.count("full_attention")
    if isinstance(pattern, str):  # Nemotron-H: M is Mamba, - an MLP, * attention
        return pattern.count("*")
    if isinstance(linear, dict):
        full = linear.get("full_attn_layers")
        return len(full) if isinstance(full, list) else None
    if interval and layers:
        return layers // interval
    if _slides(part):
        return 0
    if any("mamba" in key or key.startswith("ssm_") for key in part):
        return None
    return layers


def _slides(part: Mapping[str, Any]) -> bool:
    kinds = part.get("layer_types")
    if isinstance(kinds, list) and kinds:
        return any("sliding" in str(kind) or "chunked" in str(kind) for kind in kinds)
    return bool(_int(part, "sliding_window")) and part.get("use_sliding_window", True) is not False


def _int(part: Mapping[str, Any], key: str) -> int | None:
    """A count or length; None for what can be none, such as a negative one or one of a thousand digits."""
    value = part.get(key)
    return value if type(value) is int and 0 <= value < _LARGEST else None
