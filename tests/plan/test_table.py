"""What is planned of a model on a class of GPUs with a version of vLLM, against what is known of each from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from orchestrator.base.data_folders import shipped
from orchestrator.patches import catalogue
from orchestrator.plan.plan import Plan, make_plan
from orchestrator.plan.wishes import Wishes
from orchestrator.playbook import playbook as playbooks
from orchestrator.playbook.playbook import Playbook
from orchestrator.survey import supposed
from orchestrator.survey.cards import named
from tests import yaml_data
from tests.plan.test_predict import CONFIG

TABLE: dict[str, Any] = yaml_data.load(Path(__file__).with_name("table.yaml"))
ANSWERS: dict[str, dict[str, list[str]]] = yaml_data.load(
    Path(__file__).parents[1] / "engines/selector/answers.yaml"
)
PATCHES = catalogue.load([shipped("patches")])
RELEASES = [release for releases in ANSWERS["auto:576:mla:dense"].values() for release in releases]
TOLERANCE = 0.01


@cache
def playbook(name: str, folder: Path) -> Playbook:
    if name not in TABLE["models"]:
        return playbooks.find(name, [shipped("playbooks")])
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps(TABLE["models"][name]))
    return playbooks.find(str(path), [])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("playbooks")


def planned(wanted: Playbook, gpu: str, vllm: str, configs: Mapping[str, Any] | None = None) -> Plan:
    survey = supposed.of_cards(wanted, named(gpu))
    if configs is not None:
        files = {name: json.dumps(content).encode() for name, content in configs.items()}
        survey = replace(survey, checkpoint=replace(survey.checkpoint, exists=True, configs=files))
    return make_plan(gpu, wanted, survey, Wishes(patches=PATCHES, engine_version=vllm))


@pytest.mark.parametrize(
    "row",
    TABLE["rows"],
    ids=lambda row: "-".join((row["model"], row["gpu"], row["vllm"], *row.get("set", ()))),
)
def test_a_row_of_the_table(row: dict[str, Any], folder: Path) -> None:
    wanted = playbook(row["model"], folder).with_overrides(tuple(row.get("set", ())))
    plan = planned(wanted, row["gpu"], row["vllm"])
    printed = plan.as_json()
    command = printed["command"]
    assert [each["code"] for each in printed["refusals"]] == row.get("refusals", [])
    if "fit" in row:
        assert plan.fit.verdict == row["fit"], plan.fit
    if "longest" in row:
        assert plan.fit.longest_context == pytest.approx(row["longest"], rel=TOLERANCE)
    if "predictions" in row:
        assert [each["patch"] for each in printed["predictions"]] == row["predictions"]
    for flag, value in row.get("flags", {}).items():
        assert command[command.index(flag) + 1] == value
    environment = {each["name"]: each["value"] for each in printed["environment"]}
    assert environment.items() >= row.get("environment", {}).items()
    if "adapted" in row:
        assert [each["asked"] for each in printed["adaptations"]] == row["adapted"]


def test_every_row_has_a_source_and_there_are_enough() -> None:
    rows = TABLE["rows"]
    assert len(rows) >= 130
    cards = {row["gpu"].split("x", 1)[-1] for row in rows}
    assert cards >= {"RTX 4090", "RTX 5090", "L40S", "H100", "RTX PRO 6000", "H200", "B200", "B300"}
    assert all(row["source"] for row in rows)
    keys = [(row["model"], row["gpu"], row["vllm"], *row.get("set", ())) for row in rows]
    assert len(set(keys)) == len(keys)


def refused(case: str, release: str) -> bool:
    return release in ANSWERS[case].get("refused", ())


def foreseen(plan: Plan) -> bool:
    return any(change.patch.id == "fp8-kv-mla" for change in plan.changes)


@pytest.mark.parametrize("release", RELEASES)
def test_the_flagship_is_predicted_to_be_refused_where_the_real_selector_refuses_it(
    release: str, folder: Path
) -> None:
    """Its checkpoint asks for FP8, which releases before 0.14 do not read: they keep the model's own dtype."""
    plan = planned(playbook("kimi-k2.5", folder), "8xRTX PRO 6000", release, {"config.json": CONFIG})
    asked = "fp8_e4m3" if Version(release) >= Version("0.14") else "auto"
    assert foreseen(plan) is refused(f"{asked}:576:mla:dense", release)


KINDS = {
    "576:mla:dense": {"quantization_config": None},
    "576:mla:sparse": {
        "quantization_config": None,
        "text_config": {**CONFIG["text_config"], "index_topk": 2048},
    },
    "128:std:dense": {
        "quantization_config": None,
        "text_config": {**CONFIG["text_config"], "kv_lora_rank": None, "head_dim": 128},
    },
}


@pytest.mark.parametrize("case", ANSWERS)
def test_a_dtype_that_is_asked_for_is_foreseen_to_be_refused_only_where_it_is(
    case: str, folder: Path
) -> None:
    """Where another remedy is due, another patch foresees it, or the refusal is left to the log."""
    dtype, kind = case.split(":", 1)
    configs = {"config.json": {**CONFIG, **KINDS[kind]}}
    asked = (f"arguments.kv-cache-dtype={dtype}",) if dtype != "auto" else ()
    wanted = playbook("kimi-k2.5", folder).with_overrides(asked)
    predicted = [
        release for release in RELEASES if foreseen(planned(wanted, "8xRTX PRO 6000", release, configs))
    ]
    quantised_mla = kind == "576:mla:dense" and dtype.startswith(("fp8", "nvfp4"))
    assert predicted == [release for release in RELEASES if quantised_mla and refused(case, release)]
