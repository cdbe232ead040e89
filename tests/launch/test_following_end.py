"""Who ended a launch that is no longer followed, as far as its last sighting and its last answer say."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.launch.following_end import FollowingEnd
from orchestrator.launch.watch import Seen
from orchestrator.programs.smoke import Completion


def answered(status: int | None) -> Completion:
    figures: dict[str, Any] = {
        "text": None,
        "tokens": 0,
        "seconds": 1.0,
        "tokens_per_second": None,
        "context": None,
    }
    return Completion(
        ok=False, status=status, error="x", late=False, made_before=None, made_after=None, **figures
    )


@pytest.mark.parametrize(
    ("seen", "status", "lives", "by_itself", "from_outside"),
    [
        (Seen("late"), None, True, False, False),
        (Seen("hanging"), None, True, False, False),
        (Seen("lingering"), None, False, False, False),
        (Seen("exited", exit_code=1), None, False, True, False),
        (Seen("exited", exit_code=0), 500, False, True, False),  # vLLM's server leaves 0 when its engine died
        (Seen("exited", exit_code=0), 404, False, False, True),
        (Seen("exited", exit_code=137), None, False, False, True),
        (Seen("exited"), None, False, False, True),  # the supervisor was killed too
    ],
)
def test_who_ended_it(
    seen: Seen, status: int | None, lives: bool, by_itself: bool, from_outside: bool
) -> None:
    end = FollowingEnd(seen, answered(status) if status else None)
    assert (end.lives, end.by_itself, end.ended_from_outside) == (lives, by_itself, from_outside)
