from __future__ import annotations

import pytest

from orchestrator.checkpoint.architecture import read

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


def test_the_text_part_of_a_wrapper_is_read() -> None:
    found = read(KIMI)
    assert (found.model_type, found.layers, found.heads, found.max_position_embeddings) == (
        "kimi_k25",
        61,
        64,
        262144,
    )


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
