"""What is said of patches that are asked for by name."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.patches import catalogue
from orchestrator.plan.plan import Plan, make_plan
from orchestrator.plan.wishes import Wishes
from orchestrator.playbook import playbook as playbooks
from tests.surveys import CONFIG, NO_FILES, WHOLE, cards, survey

PATCHES = catalogue.load([shipped("patches")])
KIMI = playbooks.find("kimi-k2.5", [shipped("playbooks")])
STATIC = {"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_scheme": "static"}


def plan(*forced: str, version: str | None = "0.24.0", **config: Any) -> Plan:
    text = {**CONFIG["text_config"], **config.pop("text_config", {})}
    configs = {"config.json": json.dumps({**CONFIG, "text_config": text, **config}).encode()}
    there = survey(gpus=cards(cap="10.0"), checkpoint=replace(WHOLE, configs=configs), version=version)
    return make_plan("gpu7", KIMI, there, Wishes(patches=PATCHES, forced=forced))


def test_what_its_own_file_speaks_against_is_repeated() -> None:
    planned = plan("fp8-kv-mla", text_config={"index_topk": 2048})
    (remark,) = planned.by_name
    assert "says never for: sparse MLA (DeepSeek-V3.2, GLM-5), whose backends want FP8; a backend" in remark
    assert remark.endswith("(here: sparse-mla attention, compute capability 10.0)")
    assert remark in planned.warnings
    assert planned.changes  # it is asked for all the same


@pytest.mark.parametrize(
    ("version", "reader"), [("0.24.0", "vLLM 0.24.0"), (None, "every known release of vLLM")]
)
@pytest.mark.parametrize("patch", ["fp8-kv-mla", "fp8-kv-attention"])
def test_what_is_auto_already_is_said_so(patch: str, version: str | None, reader: str) -> None:
    planned = plan(patch, version=version, quantization_config=STATIC)
    assert planned.changes == ()
    (remark,) = planned.by_name
    assert remark.startswith(f"{patch} changes nothing here: {reader} reads auto out of these files already")


def test_a_patch_of_other_matters_that_finds_nothing() -> None:
    (remark,) = plan("attention-head-size", quantization_config=STATIC).by_name
    assert remark == "attention-head-size is asked for by name and finds nothing to change here"


def test_before_the_files_are_there_only_the_patchs_own_words_are_known() -> None:
    wishes = Wishes(patches=PATCHES, forced=("fp8-kv-mla",))
    (remark,) = make_plan("gpu7", KIMI, survey(checkpoint=NO_FILES), wishes).by_name
    assert "says never for: sparse MLA" in remark


def test_nothing_is_said_of_patches_that_nobody_named() -> None:
    assert plan().by_name == ()
    healed_another = Wishes(patches=PATCHES, forced=("fp8-kv-mla",), inherited=("fp8-kv-mla",))
    assert make_plan("gpu7", KIMI, survey(checkpoint=NO_FILES), healed_another).by_name == ()
