"""What decides a model's cache, and what is not understood and said to be so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.engines.kv_cache import CacheQuestion, KvCache
from orchestrator.engines.vllm.sizing.cost import kv_cache

LLAMA = {
    "model_type": "llama", "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8,
    "hidden_size": 8192,
}  # fmt: skip
DEEPSEEK = {
    "model_type": "deepseek_v3", "num_hidden_layers": 61, "num_attention_heads": 64, "num_key_value_heads": 64,
    "hidden_size": 7168, "kv_lora_rank": 512, "qk_rope_head_dim": 64,
}  # fmt: skip
GLM = {**DEEPSEEK, "model_type": "glm_moe_dsa", "num_hidden_layers": 78, "index_topk": 2048}
GLM_52 = {**GLM, "index_topk_freq": 4, "index_skip_topk_offset": 3}
NEMOTRON = {
    "model_type": "nemotron_h", "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128, "n_groups": 8,
    "hybrid_override_pattern": "M-M*-M", "mamba_num_heads": 256, "mamba_head_dim": 64, "ssm_state_size": 256,
    "conv_kernel": 4,
}  # fmt: skip
WINDOWS = {**LLAMA, "sliding_window": 4096, "layer_types": ["sliding_attention", "full_attention"] * 40}


def ask(config: Mapping[str, Any], dtype: str = "auto", tensor: int = 1, **more: Any) -> KvCache | None:
    given = {"version": "0.32.0", "compute_cap": "9.0", **more}
    return kv_cache(CacheQuestion(config, dtype=dtype, tensor=tensor, **given))


def token(config: Mapping[str, Any], dtype: str = "auto", tensor: int = 1, **more: Any) -> float | None:
    cache = ask(config, dtype, tensor, **more)
    return None if cache is None else cache.token_bytes(1 << 40)


@pytest.mark.parametrize(
    ("config", "dtype", "tensor", "expected"),
    [
        (LLAMA, "bfloat16", 1, 327_680),
        (LLAMA, "fp8", 1, 163_840),
        (LLAMA, "nvfp4", 1, 2 * 8 * 72 * 80),
        (LLAMA, "auto", 16, 40_960),  # one head a rank at least
        ({**LLAMA, "torch_dtype": "float32"}, "auto", 1, 327_680),  # cast
        ({**LLAMA, "num_key_value_heads": None}, "auto", 1, 8 * 327_680),
        ({**LLAMA, "num_kv_heads": 4, "num_key_value_heads": 8}, "auto", 1, 163_840),  # vLLM's order of keys
        ({**LLAMA, "sliding_window": 0}, "auto", 1, 327_680),
        ({**LLAMA, "layer_types": []}, "auto", 1, 327_680),
        ({**LLAMA, "sliding_window": 4096, "layer_types": ["full_attention"] * 80}, "auto", 1, 327_680),
        (WINDOWS, "auto", 1, 163_840),
        ({"model_type": "kimi_k25", "text_config": DEEPSEEK}, "fp8_e4m3", 8, 35_136),
        (DEEPSEEK, "auto", 8, 70_272),
        ({**DEEPSEEK, "qk_rope_head_dim": 0}, "auto", 1, 61 * 512 * 2),
        ({**DEEPSEEK, "model_type": "llama"}, "auto", 1, 2 * 64 * 112 * 61 * 2),  # a latent alone is no MLA
        ({**GLM, "layer_types": ["deepseek_sparse_attention"] * 78}, "auto", 1, 78 * (1152 + 132)),
        (GLM_52, "auto", 1, 92_628),
        (GLM_52, "fp8", 1, 53_940),
        ({**GLM, "indexer_types": ["full", "shared", "shared"] * 26}, "auto", 1, 78 * 1152 + 26 * 132),
        (NEMOTRON, "auto", 1, 4096),
        ({**LLAMA, "model_type": "dbrx", "attn_config": {"kv_n_heads": 2}}, "auto", 1, 81_920),
        ({**LLAMA, "model_type": "falcon", "multi_query": True}, "fp8", 1, 2 * 128 * 80 * 2),
    ],
)
def test_bytes_a_token(config: dict[str, Any], dtype: str, tensor: int, expected: int) -> None:
    assert token(config, dtype, tensor) == expected


@pytest.mark.parametrize(
    "config",
    [
        {},
        {**LLAMA, "model_type": "a_model_of_tomorrow"},
        {**LLAMA, "architectures": ["ModelOfTomorrowForCausalLM"]},
        {**LLAMA, "architectures": []} | {"num_hidden_layers": -1},
        {**LLAMA, "num_hidden_layers": True},
        {**LLAMA, "num_hidden_layers": 10**400},
        {**LLAMA, "num_attention_heads": 0},
        {**LLAMA, "layer_types": ["full_attention", "attention_of_tomorrow"] * 40},
        {**LLAMA, "layer_types": [["full_attention"]] * 80},
        {**LLAMA, "layer_types": ["full_attention"]},
        {**LLAMA, "sliding_window": 4096, "use_sliding_window": False},
        {**LLAMA, "model_type": "qwen2", "use_sliding_window": True, "max_window_layers": 40},
        {**LLAMA, "model_type": "falcon_mamba"},
        {**NEMOTRON, "hybrid_override_pattern": "M-X*"},
        {**NEMOTRON, "hybrid_override_pattern": None},
        {**NEMOTRON, "mamba_ssm_cache_dtype": "float8"},
        {**DEEPSEEK, "model_type": "kimi_linear", "linear_attn_config": {"full_attn_layers": "all"}},
        {
            **LLAMA,
            "model_type": "nemotron-nas",
            "block_configs": [{"attention": {"n_heads_in_group": 0}}] * 80,
        },
        {**LLAMA, "model_type": "gemma4_text"},
        {**GLM, "indexer_types": ["some"] * 78},
    ],
)
def test_what_is_not_understood_is_not_known(config: dict[str, Any]) -> None:
    assert ask(config) is None


WORDS: tuple[Any, ...] = (
    None,
    -1,
    0,
    "x",
    [],
    {},
    10**30,
    True,
    [[]],
    [{}],
    0.5,
    "M*",
    [0] * 200,
    ["x"] * 200,
)
PUBLISHED = sorted((Path(__file__).parent / "configs").glob("*.json"))


@pytest.mark.parametrize("path", PUBLISHED[::4], ids=lambda path: path.stem)
def test_whatever_stands_in_a_config_is_sized_or_not_known_and_never_nothing(path: Path) -> None:
    config = json.loads(path.read_text())
    for part in (config, config.get("text_config", {})):
        for key in list(part):
            there = part[key]
            for part[key] in WORDS:
                cache = ask(config, tensor=2)
                assert cache is None or all(layers.count > 0 < layers.each for layers in cache.layers)
                assert cache is None or not cache.layers or cache.request_bytes(8192) != 0
            part[key] = there


@pytest.mark.parametrize(
    ("config", "dtype", "version"),
    [
        (LLAMA, "ultraquant_4bit", "0.32.0"),
        (LLAMA, "int8_per_token_head", "0.19.1"),
        (LLAMA, "int4_per_token_head", "0.24.0"),
        ({**LLAMA, "head_dim": 64}, "nvfp4", "0.32.0"),
        (DEEPSEEK, "nvfp4", "0.32.0"),
        (DEEPSEEK, "int8_per_token_head", "0.32.0"),
        (WINDOWS, "turboquant_4bit_nc", "0.32.0"),
        (GLM, "turboquant_4bit_nc", "0.32.0"),
    ],
)
def test_a_type_that_is_not_kept_so_is_not_known(config: dict[str, Any], dtype: str, version: str) -> None:
    assert ask(config, dtype, version=version) is None


def test_ranks_that_cannot_share_heads_are_refused() -> None:
    three = {**LLAMA, "num_attention_heads": 48, "num_key_value_heads": 3}
    assert ask(three, tensor=2) is ask(three, tensor=5) is None
    assert token(three, tensor=3) == 2 * 170 * 80 * 2
    assert ask(DEEPSEEK, tensor=3) is None


def test_a_class_counts_only_where_the_version_has_it() -> None:
    gone = {**LLAMA, "model_type": "xverse", "architectures": ["XverseForCausalLM"]}
    assert token(gone, version="0.19.1") == token(gone, version="0.23.0") == 327_680
    assert ask(gone) is ask(gone, version=None) is ask(gone, version="dev") is None
    adapted = {**LLAMA, "architectures": ["LlamaForSequenceClassification"]}
    assert token(adapted) == 327_680


def test_layers_share_an_indexer_only_in_releases_that_know_of_it() -> None:
    assert token(GLM_52, version="0.24.0") == 92_628
    assert token(GLM_52, version="0.19.1") == token(GLM_52, version="0.16.0") == 100_152
    assert ask(GLM_52, version="0.21.0") is None
    assert token(GLM, version="0.21.0") == 100_152


@pytest.mark.parametrize(
    ("card", "version", "auto", "fp8"),
    [
        ("9.0", "0.32.0", 1152, 656),
        ("9.0", "0.19.1", 1152, 656),
        ("9.0", "0.16.0", 1152, None),
        ("10.3", "0.32.0", 576, 576),
        ("12.0", "0.32.0", 656, 656),
        ("12.0", "0.24.0", None, None),
        ("8.0", "0.32.0", None, None),
        (None, "0.32.0", None, None),
    ],
)
def test_the_card_decides_how_a_sparse_latent_lies(
    card: str | None, version: str, auto: int | None, fp8: int | None
) -> None:
    for dtype, latent in (("auto", auto), ("fp8", fp8)):
        size = token(GLM, dtype, version=version, compute_cap=card)
        assert size == (None if latent is None else 78 * (latent + 132))


def test_a_state_is_kept_in_the_dtype_of_the_release() -> None:
    def state(version: str, **more: str) -> float | None:
        cache = ask({**NEMOTRON, **more}, version=version)
        return None if cache is None else next(kind.each for kind in cache.layers if kind.kind == "state")

    assert state("0.24.0") == state("0.32.0") == 16_900_096
    assert state("0.19.1") == 8_511_488
    assert state("0.21.0") is None
    assert state("0.21.0", mamba_ssm_cache_dtype="float32") == 16_900_096


SMALL = {
    "num_hidden_layers": 8, "num_attention_heads": 16, "num_key_value_heads": 4, "hidden_size": 1024, "head_dim": 64,
    "sliding_window": 512, "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"] * 2,
}  # fmt: skip
OTHER = {
    "attention_type": "sliding_attention",
    "num_attention_heads": 24,
    "num_attention_groups": 8,
    "head_dim": 64,
}
MIMO = {
    "head_dim": 192, "v_head_dim": 128, "swa_head_dim": 192, "swa_v_head_dim": 128, "swa_num_key_value_heads": 8,
    "hybrid_layer_pattern": [0, 1, 1, 1] * 2,
}  # fmt: skip


@pytest.mark.parametrize(
    ("model_type", "more", "full", "windows"),
    [
        ("laguna", {}, (2, 1024), (6, 1024, 512)),
        ("exaone_moe", {}, (2, 1024), (6, 1024, 512)),
        ("olmo3", {"layer_types": None}, (2, 1024), (6, 1024, 512)),
        ("exaone4", {"layer_types": None, "sliding_window_pattern": 4}, (2, 1024), (6, 1024, 512)),
        ("cohere2", {"layer_types": None}, (2, 1024), (6, 1024, 513)),
        ("gemma2", {"layer_types": None}, (4, 1024), (4, 1024, 512)),
        ("gemma3n_text", {"num_kv_shared_layers": 4}, (1, 1024), (3, 1024, 512)),
        ("gemma4_text", {"num_kv_shared_layers": 4, "global_head_dim": 128}, (1, 2048), (3, 1024, 512)),
        ("step3p5", {"num_attention_groups": 4, "attention_other_setting": OTHER}, (2, 1024), (6, 2048, 512)),
        ("mimo_v2", MIMO, (2, 2560), (6, 5120, 512)),
    ],
)
def test_windows_of_models_without_a_published_config_here(
    model_type: str, more: dict[str, Any], full: tuple[int, int], windows: tuple[int, int, int]
) -> None:
    """vLLM 0.32.0 answered so when it was asked of configs as small as these."""
    cache = ask({**SMALL, **more, "model_type": model_type})
    assert cache is not None
    assert [(kind.count, kind.each) for kind in cache.layers if kind.kind == "full"] == [full]
    assert [(kind.count, kind.each, kind.tokens) for kind in cache.layers if kind.kind == "window"] == [
        windows
    ]


def test_how_many_states_a_request_keeps_hangs_on_the_class() -> None:
    linear = {
        **SMALL, "model_type": "kimi_linear", "kv_lora_rank": 512, "qk_rope_head_dim": 64,
        "linear_attn_config": {
            "full_attn_layers": [4, 8], "kda_layers": [1, 2, 3, 5, 6, 7], "num_heads": 16, "head_dim": 128,
            "short_conv_kernel_size": 4,
        },
    }  # fmt: skip
    alone, inside = ask(linear), ask({"model_type": "kimi_k3", "text_config": linear})
    assert alone is not None and inside is not None
    assert alone.request_bytes(8192) == 33_030_144
    assert inside.request_bytes(8192) == 40_108_032


def test_embedding_models_keep_nothing() -> None:
    for config in ({**LLAMA, "model_type": "bert"}, {**LLAMA, "model_type": "qwen2", "is_causal": False}):
        cache = ask(config)
        assert cache is not None
        assert (cache.layers, cache.request_bytes(8192)) == ((), 0)


def test_windows_hold_what_is_scheduled_besides() -> None:
    each, blocks = 40 * 4096, 131_072 // 16
    newest, older = ask(WINDOWS, step_tokens=2048), ask(WINDOWS, step_tokens=2048, version="0.24.0")
    assert newest is not None and older is not None
    assert newest.request_bytes(131_072) == (blocks + (4095 + 4096) // 16 + 2) * 16 * each
    assert older.request_bytes(131_072) == (blocks + (4095 + 2048) // 16 + 2) * 16 * each
    assert newest.token_bytes(4096) == 2 * newest.token_bytes(8192)


def test_ranks_that_share_a_context_share_a_latent() -> None:
    cache = ask(DEEPSEEK, tensor=8, context_parallel=8)
    assert cache is not None
    assert cache.request_bytes(131_072) == 131_072 // 8 * 70_272


@pytest.mark.parametrize(
    ("config", "attention"),
    [
        (LLAMA, "gqa"),
        ({**LLAMA, "kv_lora_rank": 512}, "gqa"),
        (DEEPSEEK, "mla"),
        ({"model_type": "kimi_k25", "text_config": DEEPSEEK}, "mla"),
        (GLM, "sparse-mla"),
        (NEMOTRON, "hybrid"),
        (WINDOWS, "sliding"),
        ({**LLAMA, "model_type": "bert"}, "other"),
    ],
)
def test_the_kind_of_attention_that_patches_ask_for(config: dict[str, Any], attention: str) -> None:
    cache = ask(config)
    assert cache is not None
    assert cache.attention == attention
