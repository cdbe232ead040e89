"""Work that goes on by itself, followed."""

from __future__ import annotations

import pytest

from orchestrator.programs import errand
from orchestrator.programs.errand import ErrandStanding, standings


def standing(state: str) -> ErrandStanding:
    return ErrandStanding.model_validate({"state": state, "room": "/d"})


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was waited each time."""
    waited: list[float] = []
    monkeypatch.setattr(errand.time, "sleep", waited.append)
    return waited


@pytest.mark.parametrize("last", ["done", "failed", "stopped", "none"])
def test_it_is_followed_to_its_end_and_not_beyond(pauses: list[float], last: str) -> None:
    later = [standing("running"), standing(last)]
    seen = [answer.state for answer in standings(standing("started"), lambda: later.pop(0), lambda: None)]
    assert seen == ["started", "running", last]
    assert len(pauses) == 2


def test_what_has_ended_is_not_asked_again(pauses: list[float]) -> None:
    assert [answer.state for answer in standings(standing("done"), pytest.fail, lambda: None)] == ["done"]
    assert pauses == []


def test_it_is_asked_less_and_less_often(pauses: list[float]) -> None:
    running = standings(standing("running"), lambda: standing("running"), lambda: None)
    for _ in range(7):
        next(running)
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]


def test_who_does_not_proceed_asks_no_more(pauses: list[float]) -> None:
    def halt() -> None:
        raise InterruptedError

    running = standings(standing("running"), pytest.fail, halt)
    next(running)
    with pytest.raises(InterruptedError):
        next(running)
