"""Which parsers a model gets, by its type, its name and the release; `tests/models/table.yaml` has more."""

from __future__ import annotations

import json
from importlib import resources

import pytest

from orchestrator.engines.vllm.parsers import parsers
from orchestrator.engines.vllm.values import taken

KNOWN = json.loads(resources.files("orchestrator.engines.vllm").joinpath("parsers.json").read_text())


def suggested(model_type: str, name: str, version: str | None = "0.33.0") -> dict[str, object]:
    return {item.option: item.value for item in parsers(model_type, name, version)}


@pytest.mark.parametrize(
    ("kind", "option"), [("tool", "tool-call-parser"), ("reasoning", "reasoning-parser")]
)
def test_every_family_names_parsers_that_the_newest_release_has(kind: str, option: str) -> None:
    for name in {family[kind] for family in KNOWN["families"] if kind in family}:
        assert taken(option, name, "0.33.0"), name


@pytest.mark.parametrize(
    ("model_type", "name", "tool", "reasoning"),
    [
        ("kimi_k2", "Kimi-K2-Instruct", "kimi_k2", None),
        ("kimi_k2", "Kimi-K2-Thinking", "kimi_k2", "kimi_k2"),
        ("qwen3_moe", "Qwen3-235B-A22B-Instruct-2507", "hermes", None),
        ("qwen3_moe", "Qwen3-Coder-480B-A35B-Instruct", "qwen3_coder", None),
        ("qwen3", "Qwen3-8B", "hermes", "qwen3"),
        ("qwen3", "Qwen3-Embedding-0.6B", None, None),
        ("glm4_moe", "GLM-4.6", "glm45", "glm45"),
        ("glm4_moe", "GLM-4.7-FP8", "glm47", "glm45"),
        ("llama", "Llama-3.3-70B-Instruct", None, None),
        ("deepseek_v3", "tiny-mla", None, None),
    ],
)
def test_a_family_is_known_by_type_and_name(
    model_type: str, name: str, tool: str | None, reasoning: str | None
) -> None:
    options = suggested(model_type, name)
    assert options.get("tool-call-parser") == tool
    assert options.get("reasoning-parser") == reasoning
    assert options.get("enable-auto-tool-choice") == (True if tool else None)


def test_a_release_that_is_not_known_to_have_the_parser_gets_none() -> None:
    assert suggested("deepseek_v4", "DeepSeek-V4-Flash", "0.19.1") == {
        "tool-call-parser": None,
        "reasoning-parser": None,
    }
    assert (
        suggested("deepseek_v4", "DeepSeek-V4-Flash", "0.24.0rc1+cu130")["tool-call-parser"] == "deepseek_v4"
    )
    assert suggested("deepseek_v4", "DeepSeek-V4-Flash", None)["tool-call-parser"] == "deepseek_v4"
    assert suggested("deepseek_v4", "DeepSeek-V4-Flash", "dev")["tool-call-parser"] is None
