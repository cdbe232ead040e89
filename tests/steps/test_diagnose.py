"""A launch whose end nobody saw is read to its end, and followed where it lives all the same."""

from __future__ import annotations

import pytest

from orchestrator.launch.failure import Failure
from orchestrator.steps.diagnose import Diagnose
from tests.steps.doing import do, plan
from tests.steps.following import FAILED, UNDER_WAY, followed


def test_it_only_reads_and_says_what_may_follow() -> None:
    effects = Diagnose(plan(), UNDER_WAY).effects
    assert effects.words == ("nothing: reads the log of launch 3",)
    assert effects.depends == "a fault in it is repaired first, as its root cause asks for"


@pytest.mark.parametrize(
    ("comes", "came", "asked"),
    [
        ({"until_ready": FAILED}, FAILED, ["until_ready"]),
        ({"prove": FAILED}, FAILED, ["until_ready", "prove"]),
        ({}, "done", ["until_ready", "prove"]),
    ],
)
def test_it_is_followed_as_one_that_another_run_began(
    comes: dict[str, Failure], came: Failure | str, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = followed(monkeypatch, **comes)
    assert do(Diagnose(plan(), UNDER_WAY)) == (came, 0)
    assert launch.asked == [(3, "older"), *asked, "let go"]
