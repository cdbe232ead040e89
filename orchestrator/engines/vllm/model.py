"""What of a model does vLLM go by: which numbers and words does it read out of the config files?

Every number, word and switch of the text model's part by its own name, and what other families call otherwise under one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from orchestrator.engines.kv_cache import CacheQuestion
from orchestrator.engines.vllm.kv_cache import quantisation
from orchestrator.engines.vllm.sizing.shape import ModelShape, NotKnown, read
from orchestrator.on_host.checkpoint.configs import CONFIG

_EXPERTS = ("num_experts", "moe_num_experts", "n_routed_experts", "num_local_experts")
_ALL_EXPERTS = ("minimax_m2", "mixtral")
_OLD_LAYOUT = {
    "NVFP4": ("group_size", "kv_cache_quant_algo", "exclude_modules"),
    "MXFP8": ("kv_cache_quant_algo", "exclude_modules"),
}
"""What ModelOpt's old layout must have, by its algorithm; null will do."""
_LONGEST = 200
_BLOCK = ("weight_block_n", "weight_block_k")


def model(documents: Mapping[str, Mapping[str, Any]], version: str | None) -> dict[str, str]:
    """Texts by name: besides the config's own `architecture`, `model_type` (of the whole), `text_type`, `dtype`,
    `quantization` and `quant_algo`, the block that it scales by, and what counts heads, experts and tokens."""
    config = documents[CONFIG]
    shape = read(CacheQuestion(config, version, "auto"))
    values = {
        **{name: value for name, value in shape.part.items() if isinstance(value, (str, int, float))},
        **dict(_whole(config, shape)),
        **dict(_counted(shape)),
        **dict(_quantised(documents, version)),
    }
    texts = {name: str(value) for name, value in values.items() if value is not None}
    return {name: text for name, text in texts.items() if len(text) <= _LONGEST}


def _whole(config: Mapping[str, Any], shape: ModelShape) -> Iterator[tuple[str, Any]]:
    architectures = config.get("architectures")
    yield "architecture", architectures[0] if isinstance(architectures, list) and architectures else None
    yield "model_type", config.get("model_type")
    yield "text_type", shape.model_type
    kept = (part.get(key) for part in (shape.part, config) for key in ("dtype", "torch_dtype"))
    dtype = next((each for each in kept if isinstance(each, str)), None)
    yield "dtype", dtype and dtype.removeprefix("torch.")


def _counted(shape: ModelShape) -> Iterator[tuple[str, int | None]]:
    counts: dict[str, Callable[[], int | None]] = {
        "num_attention_heads": lambda: shape.heads,
        "num_key_value_heads": lambda: shape.kv_heads,
        "head_dim": lambda: shape.head_size,
        "num_hidden_layers": lambda: shape.layers,
        "num_experts": lambda: _experts(shape),
        "moe_intermediate_size": lambda: _width_of_an_expert(shape),
        "longest": lambda: _longest(shape),
    }
    for name, count in counts.items():
        try:
            yield name, count()
        except NotKnown:
            yield name, None


def _experts(shape: ModelShape) -> int | None:
    """How many there are of the experts among which a token's are chosen: none where nothing speaks of experts."""
    named = shape.count(*_EXPERTS)
    return (
        0
        if named is None and not any("expert" in key or key == "block_configs" for key in shape.part)
        else named
    )


def _width_of_an_expert(shape: ModelShape) -> int | None:
    """Some families have no layer without experts, and one size for it."""
    key = "intermediate_size" if shape.model_type in _ALL_EXPERTS else "moe_intermediate_size"
    return shape.count(key)


def _longest(shape: ModelShape) -> int | None:
    """The longest context of a model whose positions nothing scales, and which has one key for it; None for others."""
    scaled = any(shape.part.get(key) for key in ("rope_scaling", "rope_parameters"))
    others = (
        "n_positions",
        "max_seq_len",
        "seq_length",
        "model_max_length",
        "max_sequence_length",
        "max_target_positions",
    )
    return None if scaled or any(map(shape.has, others)) else shape.count("max_position_embeddings")


def _quantised(documents: Mapping[str, Mapping[str, Any]], version: str | None) -> Iterator[tuple[str, Any]]:
    method, block = quantisation(documents, version)
    yield "quantization", method
    inner = block.get("quantization")
    algo = (inner if isinstance(inner, dict) else block).get("quant_algo")
    yield "quant_algo", algo if isinstance(algo, str) else None
    for name in ("bits", "group_size", "desc_act", "checkpoint_format", "activation_scheme", "load_in_4bit"):
        yield f"quant_{name}", block.get(name) if isinstance(block.get(name), (str, int)) else None
    if isinstance(inner, dict) and isinstance(algo, str):
        needed = next((fields for word, fields in _OLD_LAYOUT.items() if word in algo.upper()), ())
        yield "quant_lacks", ", ".join(name for name in needed if name not in inner) or None
    sizes = block.get("weight_block_size")
    if isinstance(sizes, list) and len(sizes) == 2 and all(type(size) is int and size > 0 for size in sizes):
        yield from zip(_BLOCK, sizes, strict=True)
