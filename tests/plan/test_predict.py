"""Which failures are certain before they were seen: those whose window holds as a whole, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.facts.source import Unknown
from orchestrator.patches import catalogue
from orchestrator.patches.known import Known
from orchestrator.patches.patch import Patch
from orchestrator.patches.when import When
from orchestrator.plan.differences import differences
from orchestrator.plan.plan import Plan, make_plan
from orchestrator.plan.windows import may_be
from orchestrator.plan.wishes import Wishes
from orchestrator.playbook import playbook as playbooks
from orchestrator.survey.checkpoint import Checkpoint
from orchestrator.survey.survey import Survey
from tests.surveys import CONFIG, FILES, NO_FILES, WHOLE, cards, survey

PATCHES = catalogue.load([shipped("patches")])
KIMI = playbooks.find("kimi-k2.5", [shipped("playbooks")])


def patch(window: dict[str, Any] | None, *remedy: dict[str, Any], **more: Any) -> Patch:
    matches = [{"exception": "MyError", "pattern": r"need (?P<length>\d{1,9})"}]
    content = {
        "id": "mine",
        "title": "Mine",
        "category": "other",
        "match": matches,
        "remedy": list(remedy),
        **more,
    }
    return Patch.model_validate({**content, **({"window": window} if window is not None else {})})


def plan(found: Survey, *patches: Patch, engine_args: tuple[str, ...] = (), **wishes: Any) -> Plan:
    playbook = KIMI.with_overrides((), engine_args)
    return make_plan("gpu7", playbook, found, Wishes(patches=patches, **wishes))


def checkpoint(**config: Any) -> Checkpoint:
    return replace(WHOLE, configs={**FILES, "config.json": json.dumps({**CONFIG, **config}).encode()})


FLAG = {"kind": "flag", "name": "--max-num-seqs", "op": "set", "value": "8"}
EDIT = {"kind": "config", "file": "config.json", "path": "/odd/key", "op": "set", "value": 1}
VLLM = {"vllm": ">=0.14"}

CHECKPOINTS = {
    "dense MLA, FP8 KV": WHOLE,
    "not there yet": NO_FILES,
    "sparse MLA": checkpoint(text_config={**CONFIG["text_config"], "index_topk": 2048}),
    "GQA": checkpoint(text_config={**CONFIG["text_config"], "kv_lora_rank": None, "head_dim": 128}),
    "KV in the model's dtype": replace(WHOLE, configs={"config.json": json.dumps({**CONFIG, "quantization_config": None}).encode()}),
}  # fmt: skip


def test_what_the_catalogue_predicts_and_where() -> None:
    """The flagship's remedy is taken where the real selector refuses it, or its backend says that it will."""
    versions = ("0.11.0", "0.13.0", "0.14.0", "0.16.0", "0.17.1", "0.18.0", "0.24.0", "0.33.0")
    capabilities = ("8.0", "8.9", "9.0", "10.0", "12.0", "12.1", None)
    certain = []
    for version, cap, (name, there) in product(versions, capabilities, CHECKPOINTS.items()):
        predicted = plan(survey(version=version, gpus=cards(cap=cap), checkpoint=there), *PATCHES).changes
        assert {change.patch.id for change in predicted} <= {"fp8-kv-mla"}
        certain += [(version, cap, name)] if predicted else []
    assert certain == [
        (version, cap, name)
        for version in ("0.14.0", "0.16.0", "0.17.1")
        for cap in ("12.0", "12.1")
        for name in ("dense MLA, FP8 KV", "not there yet")
    ] + [("0.33.0", "8.0", name) for name in ("dense MLA, FP8 KV", "not there yet")]


@pytest.mark.parametrize(
    ("window", "evidence"),
    [
        (VLLM, "vLLM 0.16.0"),
        ({"gpus": ">4", "compute_cap": "12.*"}, "compute capability 12.0, 8 GPUs"),
        ({"attention": ["mla", "gqa"]}, "mla attention"),
        ({"cache_type": "fp8*"}, "KV cache fp8_e4m3 by the checkpoint"),
        ({"arguments": {"tool_call_parser": "kimi*"}}, "--tool-call-parser kimi_k2"),
        ({"engine": {"kv_cache_dtype": "fp8*"}}, "kv_cache_dtype fp8_e4m3"),
        ({"config": {"/quantization_config/quant_algo": "nvfp4", "/rope_scaling": None}}, "/quantization_config/quant_algo is NVFP4, /rope_scaling is not there"),
        ({"config": {"hf_quant_config.json#/producer/name": "modelopt"}}, "hf_quant_config.json#/producer/name is modelopt"),
        ({**VLLM, "holds": "max_model_len >= 131072"}, "vLLM 0.16.0, max_model_len 131072"),
    ],
)  # fmt: skip
def test_any_window_is_judged_over_facts_config_and_options(window: dict[str, Any], evidence: str) -> None:
    (change,) = plan(survey(), patch(window, FLAG)).changes
    assert (change.why, change.evidence) == ("certain", evidence)
    assert change.flags == {"--max-num-seqs": "8"}


@pytest.mark.parametrize(
    "window",
    [
        None,
        {"vllm": "<0.16"},
        {**VLLM, "compute_cap": "9.*"},
        {"gpus": ">8"},
        {"attention": "gqa"},
        {"cache_type": "auto"},
        {"arguments": {"enforce_eager": "True"}},
        {"engine": {"kv_cache_dtype": "auto"}},
        {"engine": {"dtype": "*"}},  # what only a running engine tells
        {"config": {"/rope_scaling": "*"}},
        {"config": {"generation_config.json#/temperature": "*"}},
        {**VLLM, "holds": "max_num_seqs > 1"},  # a number that nobody gave
        {**VLLM, "holds": "length > 1"},  # of a log that there is none of
    ],
)
def test_outside_it_nothing_is_predicted(window: dict[str, Any] | None) -> None:
    assert plan(survey(), patch(window, FLAG)).changes == ()


@pytest.mark.parametrize(
    ("window", "found"),
    [
        (VLLM, survey(version=None)),
        ({"compute_cap": "*"}, survey(gpus=cards(cap=None))),
        ({"gpus": ">0"}, survey(gpus=Unknown("no_answer", "x"))),
        ({"config": {"/rope_scaling": None}}, survey(checkpoint=NO_FILES)),
        ({"engine": {"kv_cache_dtype": "*"}}, survey(version=None)),
        ({"cache_type": "*"}, survey(checkpoint=NO_FILES)),
    ],
)
def test_what_is_not_known_is_not_certain_but_shown(window: dict[str, Any], found: Survey) -> None:
    mine = patch(window, FLAG)
    planned = plan(found, mine)
    assert planned.changes == ()
    assert [change.why for change in differences(planned, (mine,))] == ["possible"]
    elsewhere = patch({**window, "attention": "gqa"}, FLAG)
    assert differences(plan(found, elsewhere), (elsewhere,)) == ()


@pytest.mark.parametrize(
    "action",
    [
        {"kind": "cleanup", "name": "compile_cache"},
        {"kind": "redownload", "name": "*"},
        {"kind": "install", "name": "ninja", "consent": "install"},
        {
            "kind": "flag",
            "name": "--trust-remote-code",
            "op": "set",
            "value": "true",
            "consent": "trust-remote-code",
        },
        {**FLAG, "value": "{length}"},
        {**FLAG, "value": None, "formula": "length"},
        {"kind": "flag", "name": "--swap-space", "op": "remove"},  # nobody set it
        {**EDIT, "path": "/missing/key"},
        {**EDIT, "op": "set", "path": "/model_type", "value": "kimi_k25"},
    ],
)
def test_what_is_never_done_on_a_prediction(action: dict[str, Any]) -> None:
    given = {key: value for key, value in action.items() if value is not None}
    mine = patch(VLLM, given)
    assert plan(survey(), mine).changes == ()
    (change,) = plan(survey(), patch(VLLM, {"do": [given]}, {"do": [FLAG]})).changes or (None,)
    assert change is None or change.flags == {"--max-num-seqs": "8"}


def test_a_config_edit_is_foreseen_with_its_diff() -> None:
    there = checkpoint(odd={"key": 0})
    mine = patch(
        {"config": {"/odd/key": "0"}}, {"do": [EDIT], "when": VLLM, "unless": {"config": {"/odd/more": "*"}}}
    )
    planned = plan(survey(checkpoint=there), mine).as_json()
    assert [one["action"] for one in planned["predictions"]] == ["edit config.json"]
    assert '"odd": {"key": 1}' in planned["patches"][0]["diff"]
    assert plan(survey(checkpoint=checkpoint(odd={"key": 1})), mine).changes == ()
    assert plan(survey(checkpoint=checkpoint(odd={"key": 0, "more": 1})), mine).changes == ()


def test_it_is_done_once_and_not_beside_what_it_breaks() -> None:
    mine = patch(VLLM, FLAG)
    record = {"action": "patch", "patch": "mine", "folder": WHOLE.folder, "flags": {"--max-num-seqs": "8"}}
    assert plan(survey(journal=[record]), mine).changes == ()
    assert plan(survey(), mine, engine_args=("max-num-seqs=8",)).changes == ()
    breaking = patch(VLLM, {"do": [FLAG], "conflicts": {"other": "it needs sixteen"}})
    other = {"action": "patch", "patch": "other", "folder": WHOLE.folder, "flags": {"--seed": "1"}}
    assert plan(survey(journal=[other]), breaking).changes == ()
    assert plan(survey(), breaking).changes != ()
    assert plan(survey(), mine, predict=False).changes == ()
    assert plan(survey(), mine, forbidden=("mine",)).changes == ()


def test_a_prediction_about_other_things_leaves_the_figures_of_the_kv_cache() -> None:
    before = plan(survey(checkpoint=NO_FILES)).fit
    planned = plan(survey(checkpoint=NO_FILES), patch(VLLM, FLAG))
    assert planned.changes and planned.fit.kv_bytes_per_token == before.kv_bytes_per_token == 35_136


def test_what_is_put_on_again_is_the_way_that_was_taken() -> None:
    ways = ({"do": [FLAG], "when": VLLM}, {"do": [EDIT], "cost": "much"})
    mine = patch(None, *ways)
    files = [{"name": "config.json", "before": "a", "after": "b"}]
    record = {
        "action": "patch",
        "patch": "mine",
        "folder": WHOLE.folder,
        "files": files,
        "way": "edit config.json",
    }
    (change,) = plan(survey(checkpoint=checkpoint(odd={}), journal=[record]), mine).changes
    assert (change.why, change.flags) == ("again", {})
    assert change.edits is not None and change.cost == "much"


def test_a_window_that_cannot_be_judged_may_be_but_that_of_one_engines_version_never_for_another() -> None:
    window = When.model_validate({**VLLM, "compute_cap": "12.*"})
    assert may_be(window, Known(kind="vllm", compute_cap="12.0"))
    assert may_be(window, Known(kind="vllm", version="0.16.0"))
    assert not may_be(window, Known(kind="vllm", version="0.16.0", compute_cap="12.0"))
    assert not may_be(window, Known(kind="vllm", compute_cap="9.0"))
    assert not may_be(window, Known(kind="sglang", compute_cap="12.0"))
    assert not may_be(window, Known(kind="sglang", version="0.16.0"))
