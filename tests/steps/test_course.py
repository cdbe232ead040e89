"""Which steps are told and done on hosts that only these tests know."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.base.limits import Limits
from orchestrator.facts.source import Unknown
from orchestrator.job import Job
from orchestrator.plan.plan import make_plan
from orchestrator.plan.wishes import Goal, Wishes
from orchestrator.report.plan_text import whole
from orchestrator.steps.course import Course, course
from orchestrator.steps.step import Onward
from orchestrator.survey.observed import Observed
from orchestrator.survey.survey import Survey
from tests.jobs import PATCHES, job
from tests.surveys import MEMBER, NEVER_LAUNCHED, NO_FILES, knowing, listener, survey

WHOLE = ["download", "verify", "patch", "launch", "watch", "smoke"]
STARTING = replace(NEVER_LAUNCHED, launch=1, alive=True, members=(MEMBER,))
SERVING = replace(STARTING, health=200, models=("kimi-k2.5",), listener=listener(ours=True))
DEAD = replace(NEVER_LAUNCHED, launch=1)
STARTED = {"action": "launch", "launch": 1}
HEALTHY = {"action": "outcome", "launch": 1, "result": "healthy"}
FAILED = {"action": "outcome", "launch": 1, "result": "failed", "cause": "x", "finding": "fp8-kv-mla"}
UNKNOWN = {**FAILED, "finding": None}
STOPPED = {"action": "stop", "launch": 1, "by_person": True}


def planned(
    found: Survey, goal: Goal = "up", begin: Onward | None = None, asked: Job | None = None
) -> Course:
    asked = asked or job()
    plan = make_plan("gpu7", asked.playbook, found, asked.wishes, goal=goal)
    return course(asked, plan, goal, begin)


def names(*arguments: Any) -> list[str]:
    return [step.name for step in planned(*arguments).steps]


@pytest.mark.parametrize(
    ("found", "goal", "expected"),
    [
        (survey(), "up", WHOLE),
        (survey(), "remediate", WHOLE[1:]),
        (survey(), "patch", ["patch"]),
        (survey(observed=STARTING), "up", ["watch", "smoke"]),
        (survey(observed=SERVING), "up", ["smoke"]),
        (survey(observed=SERVING), "restart", ["verify", "clean", *WHOLE[2:]]),
        (survey(observed=STARTING, journal=[STARTED, HEALTHY]), "up", ["answer"]),
        (survey(observed=DEAD, journal=[STARTED]), "up", ["diagnose", *WHOLE[:2], "clean", *WHOLE[2:]]),
        (survey(observed=DEAD, journal=[STARTED, UNKNOWN]), "up", [*WHOLE[:2], "clean", *WHOLE[2:]]),
        (
            survey(observed=DEAD, journal=[STARTED, FAILED]),
            "up",
            ["diagnose", *WHOLE[:2], "clean", *WHOLE[2:]],
        ),
        (survey(observed=DEAD, journal=[STARTED, FAILED]), "patch", ["diagnose", "patch"]),
        (survey(observed=DEAD, journal=[STARTED, STOPPED]), "up", WHOLE),
    ],
)
def test_only_what_is_left_to_do_is_planned(found: Survey, goal: Goal, expected: list[str]) -> None:
    assert names(found, goal) == expected


@pytest.mark.parametrize(
    ("begin", "expected"),
    [("fetch", WHOLE), ("verify", WHOLE[1:]), ("launch", WHOLE[2:])],
)
def test_what_is_planned_on_the_way_begins_where_a_step_left_off(begin: Onward, expected: list[str]) -> None:
    assert names(survey(), "up", begin) == expected


def test_a_server_from_which_nothing_came_is_followed() -> None:
    assert names(survey(observed=SERVING), "up", "follow") == ["watch", "smoke"]


def test_a_checkpoint_alone_is_fetched_and_checked() -> None:
    assert names(survey(), "fetch") == ["download", "verify"]


def test_what_serves_is_refused_nothing() -> None:
    lacking = survey(version=None, observed=SERVING)
    assert planned(lacking).refusals == ()
    assert [error.code for error in planned(lacking, "restart").refusals] == ["no_engine"]


@pytest.mark.parametrize("goal", ["up", "remediate", "restart", "patch"])
@pytest.mark.parametrize("seen", [DEAD, SERVING])
def test_a_name_that_another_playbook_has_is_refused_before_anything(goal: Goal, seen: Observed) -> None:
    here = planned(survey(observed=seen, journal=[{**STARTED, "playbook": "kimi-k2.5"}, HEALTHY]), goal)
    others = planned(survey(observed=seen, journal=[{**STARTED, "playbook": "tiny"}, HEALTHY]), goal)
    assert "name_taken" not in [error.code for error in here.refusals]
    assert others.refusals[0].code == "name_taken"
    assert "kimi-k2.5 is the name of a deployment of tiny" in others.refusals[0].message


def test_the_attempts_of_an_incident_are_spent_before_anything_is_fetched() -> None:
    tried = survey(observed=DEAD, journal=[STARTED, UNKNOWN])
    once = job(limits=Limits(max_attempts=1))
    (refusal,) = planned(tried, asked=once).refusals
    assert (refusal.code, refusal.exit_code) == ("attempts_spent", 8)
    assert planned(tried).refusals == ()
    assert planned(tried, "restart", asked=once).refusals == ()
    assert planned(survey(observed=STARTING, journal=[STARTED]), asked=once).refusals == ()


def test_a_patch_alone_needs_no_consent_of_what_would_be_started() -> None:
    careful = job(wishes=Wishes(patches=PATCHES))
    bare = replace(careful, playbook=careful.playbook.model_copy(update={"consents": ()}))
    assert set(planned(survey(), asked=bare).lacking) == {"trust-remote-code", "listen-openly"}
    assert planned(survey(), "patch", asked=bare).lacking == {}


def test_a_step_tells_what_it_does_to_the_host() -> None:
    told = {step["name"]: step for step in planned(survey(checkpoint=NO_FILES)).as_json()["steps"]}
    assert told["download"]["network_bytes"] == 590_700_000_000
    assert "planned anew" in told["download"]["depends"] == told["download"]["effects"][-1]
    assert told["launch"]["starts"] == ["/home/ml/ml-env/bin/python3 -m vllm.entrypoints.openai.api_server"]
    patched = planned(survey()).as_json()["steps"][2]
    assert patched["files"] == [
        f"{NO_FILES.folder}/{name}" for name in ("config.json", "hf_quant_config.json")
    ]


@pytest.mark.parametrize(
    ("observed", "journal"), [(SERVING, []), (STARTING, [STARTED]), (STARTING, [STARTED, HEALTHY])]
)
def test_what_lives_keeps_what_it_was_started_with_and_a_prediction_waits(
    observed: Observed, journal: list[dict[str, Any]]
) -> None:
    following = planned(survey(observed=observed, journal=journal))
    plan = following.as_json()
    (prediction,) = plan["predictions"]
    assert prediction["action"] == "at the next start: edit config.json, hf_quant_config.json"
    assert plan["patches"] == []
    waiting = [patch["file"] for patch in plan["next_start"]["patches"]]
    assert waiting == ["config.json", "hf_quant_config.json"]
    text = whole(following)
    assert [line.split()[:3] for line in text if "fp8-kv-mla" in line] == [["next", "start", "fp8-kv-mla,"]]
    assert "command of the next start" in text
    assert "--- a/config.json" not in text


def test_what_is_launched_has_its_predictions_applied_before() -> None:
    plan = planned(survey()).as_json()
    assert plan["predictions"][0]["action"] == "edit config.json, hf_quant_config.json"
    assert [patch["file"] for patch in plan["patches"]] == ["config.json", "hf_quant_config.json"]
    assert plan["next_start"] == {"patches": []}
    assert "command" in whole(planned(survey()))


def test_a_plan_fits_on_80_columns_except_for_what_is_to_be_pasted() -> None:
    text = whole(planned(survey()))
    command = text.index("command")
    assert [line for line in text[:command] if len(line) > 80 and line[:1] not in "+- "] == []
    assert text[-1].strip().startswith("--")
    steps = [line for line in text[text.index("steps") : command] if re.match(r"  [a-z]+ ", line)]
    assert list(dict.fromkeys(line.split()[0] for line in steps)) == WHOLE


def test_the_command_of_an_engine_that_is_not_known_yet_can_be_pasted() -> None:
    """A quoted ~ would be a folder of that name to the shell."""
    lines = whole(planned(knowing(survey(), engine=Unknown("no_engine", "none"))))
    (program,) = (line for line in lines if " -m vllm." in line)
    assert program.startswith('  "$HOME"/ml-env/bin/python3 -m ')


def test_a_launch_on_cards_that_others_came_to_is_planned_as_any_other() -> None:
    assert (
        names(survey(), "up", "crowded")
        == names(survey(), "up", "launch")
        == ["patch", "launch", "watch", "smoke"]
    )


def test_that_a_launch_serves_already_is_told_before_all_that_is_about_a_start() -> None:
    command = {"argv": ["python3", "-m", "vllm", "--max-model-len", "65536"], "environment": {}}
    serving = planned(survey(observed=replace(SERVING, command=command)))
    standing = serving.as_json()["serving"]
    assert standing["launch"] == 1
    assert "--max-model-len is 65536, asked is 131072" in standing["differs"]
    assert whole(serving)[1].startswith("  now        launch 1 serves, but ")
    assert planned(survey()).as_json()["serving"] is None
    assert not any(line.startswith("  now") for line in whole(planned(survey())))
