"""Which engines a patch is for, and that what it says to each is in that engine's words."""

from __future__ import annotations

import re

import pytest
from pydantic import ValidationError

from orchestrator.base.data_folders import shipped
from orchestrator.engines import registry
from orchestrator.engines.vllm.releases import table
from orchestrator.patches import catalogue
from orchestrator.patches.patch import Patch
from tests.of_each import of_each

PATCHES = catalogue.load([shipped("patches")])
SHARED = [patch for patch in PATCHES if patch.concerns("sglang")]
OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)")
SGLANG = registry.read("sglang")


def mine(**more: object) -> Patch:
    given = {"id": "mine", "title": "t", "category": "other", "match": [{"text": "a"}]}
    return Patch.model_validate({**given, **more})


def test_a_patch_is_the_usual_engines_unless_it_says_otherwise() -> None:
    assert mine().concerns("vllm") and not mine().concerns("sglang")
    assert mine(engines="any").concerns("sglang")
    assert mine(engines=["sglang"]).concerns("sglang") and not mine(engines=["sglang"]).concerns("vllm")
    with pytest.raises(ValidationError, match="x is no kind of engine; allowed: any, sglang, vllm"):
        mine(engines=["x"])


def test_advice_may_be_another_engines() -> None:
    patch = mine(engines="any", advice="--max-model-len", advice_of={"sglang": "--context-length"})
    assert (patch.advice_for("vllm"), patch.advice_for("sglang")) == (
        ("--max-model-len",),
        ("--context-length",),
    )


def test_a_patch_of_another_engine_alone_names_its_options() -> None:
    with pytest.raises(ValidationError, match="has no option --gpu-memory-utilization"):
        flag = {"kind": "flag", "name": "--gpu-memory-utilization", "op": "set", "value": "0.8"}
        mine(engines=["sglang"], remedy=[{"do": [flag]}])


def of_vllm_alone() -> set[str]:
    options = table("options.json")["options"]
    return {name for name in options if not SGLANG.arguments.takes(name)}


@of_each(SHARED, lambda patch: patch.id)
def test_what_is_said_to_an_engine_names_nothing_of_another(patch: Patch) -> None:
    texts = [patch.title, patch.explanation, *patch.advice_for("sglang"), *patch.tells]
    options = {option for text in texts for option in OPTION.findall(text)}
    assert options & of_vllm_alone() == set()
    assert [text for text in texts if re.search(r"vllm", text, re.IGNORECASE)] == []


def test_many_patches_serve_both() -> None:
    assert len(SHARED) > 90
