"""What differs from what would be launched now, in the checkpoint and in a launch that runs."""

from __future__ import annotations

from typing import Any

from orchestrator.facts.source import Unknown
from orchestrator.plan.differences import differences, differing
from orchestrator.plan.plan import Plan, make_plan
from orchestrator.plan.wishes import Wishes
from orchestrator.survey.survey import Survey
from tests.jobs import KIMI, PATCHES
from tests.surveys import cards, survey


def plan(surveyed: Survey, **wishes: Any) -> Plan:
    return make_plan("gpu7", KIMI, surveyed, Wishes(patches=PATCHES, **wishes))


def test_differences_show_what_cannot_be_judged_and_what_the_last_failure_asks_for() -> None:
    nothing_known = survey(version=None, gpus=Unknown("no_such_program", "nvidia-smi does not exist"))
    (possible,) = differences(plan(nothing_known), PATCHES)
    assert (possible.why, possible.evidence) == ("possible", "its window is not known here")
    assert "kv_cache_scheme" in possible.diff
    journal = [
        {"action": "launch", "launch": 1},
        {"action": "outcome", "launch": 1, "result": "failed", "cause": "x", "finding": "fp8-kv-mla"},
    ]
    failed = survey(version="0.24.0", gpus=cards(cap="9.0"), journal=journal)
    (asked,) = differences(plan(failed), PATCHES)
    assert (asked.why, asked.evidence) == ("finding", "x")
    assert differences(plan(survey(version="0.24.0")), PATCHES) == ()


def test_what_is_not_to_be_predicted_and_was_seen_to_fail_differs_for_that() -> None:
    started = {"action": "launch", "launch": 1}
    failed = {"action": "outcome", "launch": 1, "result": "failed", "cause": "seen", "finding": "fp8-kv-mla"}
    (change,) = differences(plan(survey(journal=[started, failed]), predict=False), PATCHES)
    assert (change.why, change.evidence) == ("finding", "seen")
    (change,) = differences(plan(survey(), predict=False), PATCHES)
    assert change.why == "certain"


def test_a_running_launch_is_compared_option_by_option() -> None:
    planned = plan(survey())
    assert differing(planned, {"argv": [*planned.options.argv]}) == ()
    assert [differing(planned, gone) for gone in (None, {}, {"argv": None})] == [()] * 3  # its record is gone
    argv = [*planned.options.argv]
    argv[argv.index("--max-model-len") + 1] = "4096"
    argv.remove("--enable-auto-tool-choice")
    assert differing(planned, {"argv": [*argv, "--enforce-eager"]}) == (
        "--max-model-len is 4096, asked is 131072",
        "--enforce-eager is True, asked is not set",
        "--enable-auto-tool-choice is not set, asked is True",
    )
