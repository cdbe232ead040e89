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
