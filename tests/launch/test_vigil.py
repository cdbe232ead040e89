"""When is a server that does not answer taken for broken?"""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.launch import vigil
from orchestrator.launch.vigil import Trial
from orchestrator.programs.smoke import Completion

LATE = {"ok": False, "status": None, "late": True, "error": "no completion came within 60 s"}
DEAD = {"ok": False, "status": 500, "late": False, "error": "EngineCore encountered an issue."}
GONE = {"ok": False, "status": None, "late": False, "error": "[Errno 111] Connection refused"}
KEY = {"ok": False, "status": 401, "late": False, "error": "Unauthorized"}
BUSY = {"ok": False, "status": 503, "late": False, "error": "overloaded"}
MORE = {
    "text": None,
    "tokens": 0,
    "seconds": 60.0,
    "tokens_per_second": None,
    "context": None,
    "made_before": None,
    "made_after": None,
}
FINE = {"ok": True, "status": 200, "late": False, "error": None}


def trials(*answers: dict[str, Any], every: float = 70.0, takes: float = 60.0) -> tuple[Trial, ...]:
    values = [Completion.model_validate({**MORE, **answer}) for answer in answers]
    return tuple(Trial(at * every, at * every + takes, value) for at, value in enumerate(values))


def made(answer: dict[str, Any], before: int | None, after: int | None) -> dict[str, Any]:
    return {**answer, "made_before": before, "made_after": after}


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [
        ((), "unknown"),
        ((LATE,), "unknown"),
        ((LATE, LATE), "unknown"),
        ((LATE, LATE, LATE), "broken"),
        ((DEAD, GONE, DEAD), "broken"),
        ((LATE, LATE, FINE), "answers"),
        ((LATE, LATE, LATE, FINE), "answers"),
        ((KEY,), "refuses"),
        ((LATE, KEY), "refuses"),
        (({**KEY, "status": 403},), "refuses"),
        ((BUSY, BUSY), "unknown"),
        ((BUSY, BUSY, BUSY), "refuses"),
        ((LATE, LATE, BUSY), "refuses"),
        ((made(LATE, 10, 10), made(LATE, 10, 10), made(LATE, 10, 10)), "broken"),
        ((made(LATE, 10, 10), made(LATE, 10, 20), made(LATE, 20, 20)), "busy"),
        ((made(LATE, 10, None), made(LATE, None, None), made(LATE, None, 11)), "busy"),
        ((made(DEAD, 10, 11), DEAD, DEAD), "busy"),
        ((made(LATE, 10, None), LATE, made(LATE, None, 3)), "broken"),  # the counter began anew
    ],
)
def test_the_verdict(answers: tuple[dict[str, Any], ...], verdict: str) -> None:
    assert vigil.verdict(trials(*answers)) == verdict


def test_many_quick_failures_are_not_minutes() -> None:
    quick = trials(*[GONE] * 17, every=10.0, takes=0.1)
    assert vigil.verdict(quick) == "unknown"
    assert vigil.verdict(trials(*[GONE] * 19, every=10.0, takes=0.1)) == "broken"


def test_it_is_told_how_often_and_how_long() -> None:
    assert vigil.tally(trials(LATE, LATE, LATE)) == "3 completions over 3m20s"
    assert vigil.tally(trials(LATE)) == "1 completion over 1m00s"


@pytest.mark.parametrize(("seconds", "verdict"), [(179.0, "unknown"), (180.0, "broken")])
def test_the_time_counts_from_the_first_question_to_the_last_answer(seconds: float, verdict: str) -> None:
    asked = [
        Trial(1000.0 + at, 1000.0 + at + seconds / 3, trial.answer)
        for at, trial in zip((0, seconds / 3, seconds * 2 / 3), trials(LATE, LATE, LATE), strict=True)
    ]
    assert vigil.verdict((*asked,)) == verdict
    assert vigil.tally((*asked,)) == f"3 completions over {'3m00s' if seconds == 180 else '2m59s'}"
