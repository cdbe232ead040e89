from __future__ import annotations

import pytest

from orchestrator.checkpoint.architecture import kv_bytes_per_token, read

DEEPSEEK = {
    "model_type": "deepseek_v3",
    "num_hidden_layers": 61,
    "num_attention_heads": 64,
    "num_key_value_heads": 64,
    "hidden_size": 7168,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "max_position_embeddings": 262144,
}
KIMI = {"model_type": "kimi_k25", "text_config": DEEPSEEK}
GLM = {**DEEPSEEK, "model_type": "glm_moe_dsa", "num_hidden_layers": 78, "index_topk": 2048}
LLAMA = {
    "model_type": "llama",
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "hidden_size": 8192,
}
QWEN3 = {
    "model_type": "qwen3_moe",
    "num_hidden_layers": 94,
    "num_attention_heads": 64,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "hidden_size": 4096,
    "sliding_window": None,
}
QWEN35 = {
    "model_type": "qwen3_5_moe",
    "text_config": {
        "num_hidden_layers": 60,
        "num_attention_heads": 32,
        "num_key_value_heads": 2,
        "head_dim": 256,
        "hidden_size": 4096,
        "layer_types": ["linear_attention", "linear_attention", "linear_attention", "full_attention"] * 15,
    },
}
GPT_OSS = {**LLAMA, "sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"] * 40}


@pytest.mark.parametrize(
    ("config", "attention"),
    [
        (DEEPSEEK, "mla"),
        (KIMI, "mla"),
        (GLM, "sparse-mla"),
        (LLAMA, "gqa"),
        (QWEN3, "gqa"),
        (QWEN35, "hybrid"),
        ({**QWEN35["text_config"], "layer_types": None, "full_attention_interval": 4}, "hybrid"),
        ({**LLAMA, "hybrid_override_pattern": "M-M*-M", "mamba_num_heads": 8}, "hybrid"),
        (GPT_OSS, "sliding"),
        ({**LLAMA, "sliding_window": 4096}, "sliding"),
        ({**LLAMA, "sliding_window": 4096, "use_sliding_window": False}, "gqa"),
        ({**LLAMA, "mamba_d_state": 16}, "other"),
        ({}, "other"),
    ],
)
def test_attention_is_recognised(config: dict, attention: str) -> None:
    assert read(config).attention == attention


@pytest.mark.parametrize(
    ("config", "dtype", "ranks", "expected"),
    [
        (KIMI, "fp8_e4m3", 8, 35_136),
        (KIMI, "bfloat16", 8, 70_272),
        (KIMI, "auto", 1, 70_272),
        ({**DEEPSEEK, "dtype": "float32"}, "auto", 1, 140_544),
        (KIMI, "nvfp4", 8, None),
        (GLM, "bfloat16", 8, 89_856 + 78 * 132),
        (GLM, "fp8_ds_mla", 8, 78 * (656 + 132)),
        (QWEN3, "bfloat16", 4, 48_128),
        (QWEN3, "bfloat16", 8, 48_128),
        (LLAMA, "fp8", 1, 163_840),
        (LLAMA, "bfloat16", 1, 327_680),
        (LLAMA, "nvfp4", 1, 2 * 8 * 72 * 80),
        (QWEN35, "bfloat16", 1, 30_720),
        (QWEN35, "bfloat16", 4, 15_360),
        (GPT_OSS, "bfloat16", 1, None),
        (LLAMA, "int3", 1, None),
        ({}, "auto", 1, None),
    ],
)
def test_bytes_a_token(config: dict, dtype: str, ranks: int, expected: int | None) -> None:
    assert kv_bytes_per_token(read(config), dtype, ranks) == expected


def test_the_text_part_of_a_wrapper_is_read() -> None:
    found = read(KIMI)
    assert (found.model_type, found.layers, found.heads, found.max_position_embeddings) == (
        "kimi_k25",
        61,
        64,
        262144,
    )


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        ("bfloat16", 2),
        ("float16", 2),
        ("half", 2),
        ("float32", 4),
        ("float", 4),
        ("torch.bfloat16", 2),
        ("fp8", 1),
        ("fp8_e4m3", 1),
        ("float8_e5m2", 1),
        ("int3", None),
        ("turboquant", None),
    ],
)
def test_a_number_of_the_cache_takes(dtype: str, size: int | None) -> None:
    wanted = None if size is None else 2 * 8 * 128 * 80 * size
    assert kv_bytes_per_token(read(LLAMA), dtype, 1) == wanted
    assert kv_bytes_per_token(read({**LLAMA, "torch_dtype": dtype}), "auto", 1) == wanted
    assert kv_bytes_per_token(read({**LLAMA, "dtype": dtype, "torch_dtype": "float32"}), "auto", 1) == wanted


def test_four_bits_and_their_scales_are_counted_in_whole_bytes() -> None:
    odd = {**LLAMA, "head_dim": 72}
    assert kv_bytes_per_token(read(odd), "nvfp4", 1) == 2 * 8 * (36 + 4) * 80


@pytest.mark.parametrize(
    ("more", "attention", "kv_layers"),
    [
        ({"linear_attn_config": {"full_attn_layers": [4, 8, 12]}}, "hybrid", 3),
        ({"linear_attn_config": {"full_attn_layers": "all"}}, "other", None),
        ({"linear_attn_config": {}}, "other", None),
        ({"full_attention_interval": 3}, "hybrid", 26),
        ({"hybrid_override_pattern": "M-M*-M*"}, "hybrid", 2),
        ({"ssm_state_size": 16}, "other", None),
        ({"mamba_d_state": 16}, "other", None),
        ({"sliding_window": 4096}, "sliding", 0),
        ({"sliding_window": 4096, "use_sliding_window": False}, "gqa", 80),
        ({"sliding_window": 0}, "gqa", 80),
        ({"layer_types": []}, "gqa", 80),
        ({"layer_types": ["chunked_attention", "full_attention"]}, "sliding", 1),
        ({"layer_types": ["full_attention"] * 80, "sliding_window": 4096}, "gqa", 80),
        ({"head_dim": None, "hidden_size": None}, "other", 80),
        ({"num_hidden_layers": -1}, "other", None),
        ({"num_hidden_layers": True}, "other", None),
        ({"num_hidden_layers": 10**400}, "other", None),
    ],
)
def test_which_layers_keep_the_whole_context(more: dict, attention: str, kv_layers: int | None) -> None:
    found = read({**LLAMA, **more})
    assert (found.attention, found.kv_layers) == (attention, kv_layers)
    assert (kv_bytes_per_token(found, "auto", 1) is None) == (attention in ("sliding", "other"))


def test_what_a_file_says_is_read_as_it_says_and_nothing_else() -> None:
    found = read({**LLAMA, "torch_dtype": "bfloat16"})
    assert (found.model_type, found.hidden_size, found.head_dim, found.dtype) == (
        "llama",
        8192,
        128,
        "bfloat16",
    )
    assert (found.heads, found.kv_heads, read({**LLAMA, "num_key_value_heads": None}).kv_heads) == (64, 8, 64)
    nothing = read({"torch_dtype": {"a": 1}})
    assert (nothing.model_type, nothing.head_dim, nothing.kv_heads, nothing.dtype) == ("", None, None, None)
    assert nothing.attention == "other"


def test_ranks_beyond_the_heads_hold_one_head_each() -> None:
    three = {**LLAMA, "num_key_value_heads": 3}
    assert kv_bytes_per_token(read(three), "fp8", 2) == 2 * 1 * 128 * 80
    assert kv_bytes_per_token(read(three), "fp8", 16) == 2 * 1 * 128 * 80
    assert (
        kv_bytes_per_token(read({**LLAMA, "num_key_value_heads": 0, "num_attention_heads": 0}), "fp8", 1)
        is None
    )


def test_a_latent_without_its_rotary_part_is_no_latent_to_count() -> None:
    assert kv_bytes_per_token(read({**DEEPSEEK, "qk_rope_head_dim": None}), "fp8", 1) == 2 * 64 * 112 * 61
    assert kv_bytes_per_token(read(DEEPSEEK), "turboquant", 1) is None
