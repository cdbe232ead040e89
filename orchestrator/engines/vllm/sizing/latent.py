"""What do models keep that attend to one latent vector a token (MLA), and their indexers?"""

from __future__ import annotations

from orchestrator.engines.kv_cache import CacheLayers
from orchestrator.engines.vllm.sizing import windows
from orchestrator.engines.vllm.sizing.dtypes import FP8, latent_bytes
from orchestrator.engines.vllm.sizing.shape import ModelShape, NotKnown
from orchestrator.engines.vllm.sizing.windows import Layers

INDEXER = 132
"""Bytes of an indexer's key: 128 values of FP8 and a float32 scale."""
_PACKED = 656
"""fp8_ds_mla: 512 values of FP8, four float32 scales, 64 values of bfloat16."""
_PACKED_V4 = 584


def mla(shape: ModelShape) -> Layers:
    """`is_deepseek_mla`: the model type is one of vLLM's, and there is a latent; every rank keeps a full copy of it."""
    rank = shape.count("kv_lora_rank")
    if rank is None:
        return windows.uniform(shape)
    if shape.heads % shape.question.tensor:
        raise NotKnown("tensor parallel size")
    size = rank + (shape.count("qk_rope_head_dim") or 0)
    if shape.has("index_topk"):
        return _sparse(shape, size)
    return (latent(shape, shape.layers, size),)


def latent(shape: ModelShape, count: int, size: int) -> CacheLayers:
    """No backend keeps a latent of four bits, or with scales beside it."""
    return CacheLayers("mla", count, _plain_bytes(size, shape.question.dtype), 1, size)


def _sparse(shape: ModelShape, size: int) -> Layers:
    return (
        CacheLayers("mla", shape.layers, _sparse_bytes(shape, size), 1, size),
        CacheLayers("indexer", _indexers(shape), INDEXER, 1, INDEXER),
    )


def _sparse_bytes(shape: ModelShape, size: int) -> int:
    """The layout hangs on the card. Asked of 0.32 on 9.0, 10.0 and 12.0, of older releases on 9.0 alone."""
    dtype, card = shape.question.dtype, (shape.question.compute_cap or "").partition(".")[0]
    if card not in ("9", "10", "12") or (card != "9" and not shape.at_least("0.32")):
        raise NotKnown("compute capability")
    if card == "12" or dtype == "fp8_ds_mla":
        return _PACKED
    if card == "10" and dtype == "auto" and shape.model_type == "glm_moe_dsa":
        return size
    if dtype not in FP8:
        return _plain_bytes(size, dtype)
    if card == "10":
        return size
    return _PACKED if shape.at_least("0.19") else _refused(dtype)


def _indexers(shape: ModelShape) -> int:
    """Layers with an indexer of their own. Through 0.19.1 each has one; 0.24 lets layers use an earlier one's choice."""
    count = shape.layers
    shares = shape.has("index_topk_freq") or shape.has("index_topk_pattern") or shape.has("indexer_types")
    if not shares or not shape.at_least("0.19.2"):
        return count
    if not shape.at_least("0.24"):
        raise NotKnown("indexers of releases between 0.19.1 and 0.24.0")
    pattern = shape.part.get("index_topk_pattern")
    if isinstance(pattern, str):
        return count - pattern[:count].count("S")
    every, offset = shape.count("index_topk_freq"), shape.count("index_skip_topk_offset")
    if every is not None:
        first = 2 if offset is None else offset
        return sum(max(index - first + 1, 0) % max(every, 1) == 0 for index in range(count))
    kinds = shape.names("indexer_types", count)
    if kinds is None or any(kind not in ("full", "shared") for kind in kinds):
        raise NotKnown("indexer_types")
    return kinds.count("full")


def deepseek_v4(shape: ModelShape) -> Layers:
    """Latents of several tokens pressed into one, beside a window and what is being pressed.

    Only the packed FP8 layout exists; 0.32 makes auto into it, 0.24 refuses auto.
    """
    count, window, size = shape.layers, shape.needed("sliding_window"), shape.needed("head_dim")
    dtype = shape.question.dtype
    if not (dtype in FP8 or dtype == "fp8_ds_mla" or (shape.at_least("0.32") and dtype == "auto")):
        raise NotKnown(dtype)
    if (shape.question.compute_cap or "").partition(".")[0] not in ("9", "10"):
        raise NotKnown("compute capability")
    ratios = shape.names("compress_ratios", count) or []
    if not ratios or any(ratio not in (0, 1, 4, 128) for ratio in ratios):
        raise NotKnown("compress_ratios")
    few, many = ratios.count(4), ratios.count(128)
    return (
        CacheLayers("indexer", few, INDEXER / 4, 1, INDEXER),
        CacheLayers("mla", few, _PACKED_V4 / 4, 1, size),
        CacheLayers("mla", many, _PACKED_V4 / 128, 1, size),
        CacheLayers("window", count, _PACKED_V4, 1, size, window),
        CacheLayers("window", few, 4 * size, 1, size, 8),
        CacheLayers("window", few, 16 * size, 1, 4 * size, 8),
        CacheLayers("window", many, 8 * size, 1, 2 * size, 128),
    )


def minimax_m3(shape: ModelShape) -> Layers:
    """Keys and values by head, and in sparse layers an index key of bfloat16 on every rank."""
    sparse = ModelShape(shape.mapping("sparse_attention_config"), shape.model_type, shape.question)
    flags = sparse.names("sparse_attention_freq", shape.layers)
    if flags is None or any(flag not in (0, 1) for flag in flags):
        raise NotKnown("sparse_attention_freq")
    indexers = flags.count(1)
    size = sparse.needed("sparse_index_dim")
    return (
        shape.attention("full", shape.layers),
        CacheLayers("indexer", indexers, 2 * size, 1, size),
    )


def _plain_bytes(size: int, dtype: str) -> int:
    each = latent_bytes(size, dtype)
    return _refused(dtype) if each is None else each


def _refused(dtype: str) -> int:
    raise NotKnown(dtype)
