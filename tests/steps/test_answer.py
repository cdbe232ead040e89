"""A launch that was healthy is asked again; nothing of it is ended on suspicion."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.steps.answer import AnswerStep
from tests.steps.doing import do, plan
from tests.steps.following import FAILED, GONE, UNDER_WAY, followed


def test_how_long_it_is_asked_is_told_before() -> None:
    (words,) = AnswerStep(plan(), UNDER_WAY).effects.words
    assert words == "asks launch 3 until a completion comes out, or 3 failed over 180 s"


@pytest.mark.parametrize(("end", "came"), [(None, None), (FAILED, FAILED), (GONE, "fetch")])
def test_it_answers_or_is_repaired_or_is_started_again_as_it_was(
    end: Any, came: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = followed(monkeypatch, ask_again=end)
    assert do(AnswerStep(plan(), UNDER_WAY)) == (came, 0)
    assert launch.asked == [(3, "healthy"), "ask_again", "let go"]
