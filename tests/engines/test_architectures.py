"""Which releases have a class for a checkpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.engines.vllm.option_table import releases
from tests.engines.test_for_version import launch

PUBLISHED = sorted((Path(__file__).parent / "sizing").glob("**/*.json"))


def refused(architecture: Any, version: str, **more: Any) -> tuple[str, str] | None:
    arguments = more.pop("arguments", {})
    objection = launch(arguments).unsupported({"architectures": architecture, **more}, version)
    return objection and (objection.sentence, objection.known["release"])


@pytest.mark.parametrize(
    ("architecture", "version", "release", "says"),
    [
        ("LlamaForCausalLM", "0.10.2", None, ""),
        ("KimiK25ForConditionalGeneration", "0.14.1", "0.15.0", "does not have KimiK25ForConditionalGeneration, which came in 0.15.0"),
        ("KimiK25ForConditionalGeneration", "0.15.0", None, ""),
        ("GlmMoeDsaForCausalLM", "0.10.2", "0.16.0", "vLLM 0.10.2 does not have GlmMoeDsaForCausalLM"),
        ("GlmMoeDsaForCausalLM", "0.16.0", None, ""),
        ("DeepseekV4ForCausalLM", "0.19.1", "0.20.0", "which came in 0.20.0"),
        ("DeepseekV4ForCausalLM", "0.24.0", None, ""),
        ("KimiK3ForConditionalGeneration", "0.24.0", "0.27.0", "which came in 0.27.0"),
        ("Dots1ForCausalLM", "0.32.0", "0.23.0", "which went in 0.24.0"),
        ("Dots1ForCausalLM", "0.33.0", "0.23.0", "which went in 0.24.0"),
        ("Dots1ForCausalLM", "0.16.0", None, ""),
        # converted from the form that generates
        ("Qwen3ForSequenceClassification", "0.16.0", None, ""),
        ("Qwen3NextForSequenceClassification", "0.10.1", "0.10.2", "which came in 0.10.2"),
        # Transformers may have it, or nobody
        ("NoSuchThingForCausalLM", "0.33.0", None, ""),
        # versions that were not read
        ("KimiK25ForConditionalGeneration", "0.40.0", None, ""),
        ("KimiK25ForConditionalGeneration", "0.9.2", None, ""),
        ("KimiK25ForConditionalGeneration", "dev", None, ""),
        ("KimiK25ForConditionalGeneration", "0.14.2", None, ""),
    ],
)  # fmt: skip
def test_an_architecture_by_release(architecture: str, version: str, release: str | None, says: str) -> None:
    objection = refused([architecture], version)
    assert (objection and objection[1]) == release
    assert says in (objection[0] if objection else "")


@pytest.mark.parametrize("named", [None, [], "LlamaForCausalLM", [None], [7, "LlamaForCausalLM"]])
def test_what_is_no_list_of_names_is_not_judged(named: Any) -> None:
    assert refused(named, "0.16.0") is None


def test_one_that_is_there_is_enough() -> None:
    assert refused(["KimiK3ForConditionalGeneration", "LlamaForCausalLM"], "0.16.0") is None


def test_another_class_may_be_meant() -> None:
    new = ["KimiK3ForConditionalGeneration"]
    assert refused(new, "0.16.0") is not None
    for argument in ("model-impl", "hf-overrides", "model-class-overrides", "config-format"):
        assert refused(new, "0.24.0", arguments={argument: "x"}) is None
    code = {"auto_map": {"AutoModel": "x.Y"}}
    assert refused(new, "0.24.0", **code) is not None  # without trust it is not run
    assert refused(new, "0.24.0", arguments={"trust-remote-code": True}, **code) is None


def test_no_published_config_is_refused_by_the_newest_release() -> None:
    """vLLM 0.32 itself sized them."""
    read = 0
    for path in PUBLISHED:
        content = json.loads(path.read_text())
        if isinstance(content, dict) and "architectures" in content:
            read += 1
            assert launch({}).unsupported(content, "0.32.0") is None, path.name
    assert read > 20
    assert str(releases().newest) == "0.33.0"
