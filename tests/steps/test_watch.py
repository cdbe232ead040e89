"""A launch of an earlier run that somebody ended is started again; one with a fault of its own is repaired."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.diagnosis.verdict import Diagnosis
from orchestrator.launch.failure import Failure
from orchestrator.launch.watch import Seen
from orchestrator.programs.journal import OutcomeRecord
from orchestrator.programs.observe import Log
from orchestrator.steps.watch import settled, under_way
from tests.surveys import NEVER_LAUNCHED, listener, survey

ENDED = Failure(3, Seen("exited"), Diagnosis(verdict="healthy"))
FAULTY = Failure(3, Seen("exited"), Diagnosis(verdict="unknown_fault"))


@pytest.mark.parametrize(
    ("failure", "ours", "came"),
    [
        (None, True, None),
        (None, False, None),
        (ENDED, False, "fetch"),
        (ENDED, True, ENDED),
        (FAULTY, False, FAULTY),
    ],
)
def test_what_an_end_comes_to(failure: Failure | None, ours: bool, came: object) -> None:
    assert settled(failure, ours=ours) == came


def test_what_is_followed_is_known_to_serve_once_it_listened_or_was_healthy() -> None:
    assert under_way(survey()) is None
    living = replace(NEVER_LAUNCHED, launch=2, log=Log(path="/s/vllm.log", bytes=1, silent_seconds=0.0))
    for observed, served in (
        (living, False),
        (replace(living, listener=listener(ours=False)), False),
        (replace(living, listener=listener(ours=True)), True),
        (replace(living, journal=(OutcomeRecord(launch=2, result="healthy"),)), True),
    ):
        launch = under_way(survey(observed=observed))
        assert launch is not None
        assert (launch.launch, launch.log, launch.served) == (2, "/s/vllm.log", served)
