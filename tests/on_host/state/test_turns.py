"""Whether anybody has had the lock since somebody looked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.on_host.programs import lock
from orchestrator.on_host.state import state, turns

REQUEST = {"instance": "p", "who": "a@b", "doing": "x", "heartbeat_seconds": 5.0, "patience_seconds": 0.0}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(lock, "_lines", lambda seconds: iter(()))
    return state.known_folder("p") / "lock"


def taken() -> Iterator[dict[str, Any]]:
    return lock.main(dict(REQUEST))


def test_a_lock_that_nobody_had_meanwhile_holds_the_word_that_was_seen(path: Path) -> None:
    assert turns.word(path) == turns.NEVER
    (first,) = taken()
    assert first == {"locked": True, "before": turns.NEVER}
    seen = turns.word(path)
    assert seen not in (None, turns.NEVER)
    (second,) = taken()
    assert second["before"] == seen


def test_every_turn_leaves_another_word(path: Path) -> None:
    words = []
    for _ in range(3):
        list(taken())
        words.append(turns.word(path))
    assert len(set(words)) == 3


def test_a_lock_that_is_held_or_whose_holder_died_says_nothing(path: Path) -> None:
    holder = taken()
    next(holder)
    assert turns.word(path) is None
    holder.close()  # as when it is killed: nothing is given back
    assert turns.word(path) is None
    (answer,) = taken()
    assert answer == {"locked": True, "before": None}


def test_what_an_older_version_left_says_nothing(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True)
    path.touch(mode=0o600)
    assert turns.word(path) is None
    (answer,) = taken()
    assert answer["before"] is None


def test_programs_that_are_still_at_work_leave_it_held(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "_at_rest", lambda lock, seconds: seconds > 0)
    list(taken())
    assert turns.word(path) is None
