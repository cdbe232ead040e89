"""What of a launch is ended, how gently, and what is planned after it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.launch.server import GRACE_SECONDS, Server
from orchestrator.steps.clean import FAILED_GRACE_SECONDS, Clean
from tests.steps.doing import do
from tests.surveys import NEVER_LAUNCHED


@pytest.mark.parametrize(
    ("by_person", "grace", "onward"),
    [(True, GRACE_SECONDS, "launch"), (False, FAILED_GRACE_SECONDS, None)],
)
def test_what_a_person_stops_has_time_and_is_planned_anew(
    by_person: bool, grace: float, onward: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(Server, "stop", lambda self, **how: asked.append(how))
    assert do(Clean(NEVER_LAUNCHED, by_person=by_person)) == (onward, 1)
    assert asked == [{"grace_seconds": grace, "by_person": by_person, "anew": False}]


def test_every_process_is_named_before() -> None:
    nothing = Clean(replace(NEVER_LAUNCHED, launch=2)).effects
    assert (nothing.ends, nothing.files) == ((), ())
    assert nothing.words == ("end 0 processes of launch 2, remove its shared memory",)
