"""The first completion of the launch that an earlier step began to follow."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest

from orchestrator.steps.smoke import SmokeStep
from orchestrator.steps.step import Work
from tests.jobs import job
from tests.steps.doing import plan
from tests.steps.following import FAILED, GONE, UNDER_WAY, followed


def test_what_it_takes_of_the_engine_is_told() -> None:
    assert SmokeStep(plan()).effects.words == ("one completion of at most 8 tokens",)


@pytest.mark.parametrize(
    ("end", "ours", "came"),
    [(None, True, None), (FAILED, True, FAILED), (GONE, True, GONE), (GONE, False, "fetch")],
)
def test_a_launch_that_somebody_ended_is_a_failure_of_this_run_alone(
    end: Any, ours: bool, came: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = followed(monkeypatch, prove=end)
    with ExitStack() as until_end:
        work = Work(job(), lambda: None, until_end)
        work.follow(plan(), UNDER_WAY, past="new")
        assert SmokeStep(plan(), ours=ours).do(work) == came
    assert launch.asked == [(3, "new"), "prove", "let go"]
