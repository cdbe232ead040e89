"""Which models with keys and values by head count or measure their heads in a way of their own?"""

from __future__ import annotations

from dataclasses import replace

from orchestrator.engines.kv_cache import CacheLayers
from orchestrator.engines.vllm.sizing.shape import ModelShape, NotKnown
from orchestrator.engines.vllm.sizing.windows import Layers


def falcon(shape: ModelShape) -> Layers:
    """One KV head with `multi_query`, unless the decoder is of the new kind. Its class hands the cache's dtype to no layer."""
    old = not shape.part.get("new_decoder_architecture")
    single = old and shape.part.get("multi_query")
    heads = 1 if single else shape.kv_heads
    return (shape.attention("full", shape.layers, kv_heads=heads, dtype="auto"),)


def chatglm(shape: ModelShape) -> Layers:
    heads = shape.needed("multi_query_group_num") if shape.part.get("multi_query_attention") else shape.heads
    return (shape.attention("full", shape.layers, kv_heads=heads, size=shape.count("kv_channels")),)


def dbrx(shape: ModelShape) -> Layers:
    heads = shape.mapping("attn_config").get("kv_n_heads", shape.heads)
    if type(heads) is not int or heads < 1:
        raise NotKnown("attn_config")
    return (shape.attention("full", shape.layers, kv_heads=heads),)


def minicpm3(shape: ModelShape) -> Layers:
    """It has a latent, but its class unfolds it before the cache: heads as many as attend."""
    size = shape.needed("qk_nope_head_dim") + shape.needed("qk_rope_head_dim")
    return (shape.attention("full", shape.layers, kv_heads=shape.heads, size=size),)


def nemotron_nas(shape: ModelShape) -> Layers:
    """A pruned model: each block says whether it attends, and how many heads share a KV head."""
    kept: dict[int, int] = {}
    for block in shape.names("block_configs", shape.layers) or []:
        attention = block.get("attention") if isinstance(block, dict) else None
        if not isinstance(attention, dict) or attention.get("replace_with_linear"):
            raise NotKnown("block_configs")
        if attention.get("no_op"):
            continue
        group = attention.get("n_heads_in_group")
        if type(group) is not int or group < 1 or shape.heads % group:
            raise NotKnown("n_heads_in_group")
        kept[shape.heads // group] = kept.get(shape.heads // group, 0) + 1
    if not kept:
        raise NotKnown("block_configs")
    return tuple(shape.attention("full", count, kv_heads=heads) for heads, count in kept.items())


def whisper(shape: ModelShape) -> Layers:
    """Each layer of the decoder has a cache of its own tokens and one of what the encoder read."""
    count, heads = shape.needed("decoder_layers"), shape.needed("decoder_attention_heads")
    part = {**shape.part, "num_attention_heads": heads}
    own = ModelShape(part, shape.model_type, shape.question).attention("full", count, kv_heads=heads)
    return own, replace(own, kind="cross", tokens=shape.step_tokens)


def nothing(shape: ModelShape) -> tuple[CacheLayers, ...]:
    """Encoders that embed or rank keep nothing."""
    shape.on_rank(shape.heads)
    return ()
