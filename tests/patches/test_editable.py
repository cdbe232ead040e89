"""What no config edit may touch, whoever wrote the patch."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.patches.editable import require_editable


@pytest.mark.parametrize(
    "pointer",
    [
        "/auto_map", "/auto_map/AutoModel", "/text_config/auto_map", "/AUTO-MAP", "/trust_remote_code", "/custom_pipelines",
        "/custom_generate", "/tokenizer_class", "/_name_or_path", "/name_or_path", "/text_config/_name_or_path", "/vision_tower",
        "/speculators_config/verifier/name_or_path", "/speculative_config", "/chat_template", "/model_path", "/base_url", "/backbone",
        "/plugin", "/loader/entry_point", "/quantization_config/load_module", "/code_revision", "/hf_token", "/adapter_config",
    ],
)  # fmt: skip
@pytest.mark.parametrize("value", [None, 1])
def test_a_member_that_is_for_a_person(pointer: str, value: Any) -> None:
    with pytest.raises(ValueError, match="is for a person to choose"):
        require_editable(pointer, value)


@pytest.mark.parametrize(
    "value",
    [
        {"auto_map": {}}, [{"deep": {"trust_remote_code": True}}], "x/y", "org--repo.Class", "https://evil", "..\\x", "x.py", "a\nb",
        "{{ x }}", "{% x %}", ["ok", "~/x"], {"a/b": 1}, float("nan"), float("inf"), "x" * 20_000, {1, 2},
    ],
)  # fmt: skip
def test_a_value_that_is_for_a_person_or_none(value: Any) -> None:
    with pytest.raises(ValueError, match="/rope_scaling"):
        require_editable("/rope_scaling", value)


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/rope_scaling", {"rope_type": "yarn", "factor": 4.0}),
        ("/quantization_config/kv_cache_scheme", None),
        ("/quantization_config/modules_to_not_convert", ["lm_head", "model.layers.0"]),
        ("/quantization_config/ignore", ["re:.*lm_head"]),
        ("/torch_dtype", "torch.bfloat16"),
        ("/architectures/0", "LlamaForCausalLM"),
        ("/max_position_embeddings", 131072),
        ("/tie_word_embeddings", False),
        ("/eos_token_id", [1, 2]),
        ("/image_token", "<image>"),
        ("/activation_function", "gelu_new"),
        ("/layer_types/3", "sliding_attention"),
    ],
)
def test_any_other_member(pointer: str, value: Any) -> None:
    require_editable(pointer, value)
