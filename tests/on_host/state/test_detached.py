"""Work that goes on by itself: who does it is noted while it is done, and how it ended stays."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.state import detached
from orchestrator.on_host.state.detached import Errand, Tell


def errand(room: Path, last: dict[str, Any]) -> Errand:
    def carry_out(say: Tell) -> dict[str, Any]:
        say({"half": True})
        return last

    return Errand("work", room, {"what": "x"}, carry_out)


@pytest.mark.parametrize(("last", "state"), [({"done": True}, "done"), ({"error": {"code": "c"}}, "failed")])
def test_it_is_carried_out_here_and_its_last_line_tells_how_it_ended(
    tmp_path: Path, last: dict[str, Any], state: str
) -> None:
    assert detached.status(tmp_path)["state"] == "none"
    told: list[dict[str, Any]] = []
    ended = detached.run(errand(tmp_path, last), told.append)
    assert [answer["state"] for answer in told] == ["started"]
    assert (ended["state"], ended["last"], ended["room"]) == (state, last, str(tmp_path))
    assert detached.status(tmp_path) == ended
    assert (ended["holder"]["what"], ended["holder"]["pid"]) == ("x", os.getpid())
    assert len((tmp_path / "progress.jsonl").read_text().splitlines()) == 2


def test_one_that_is_under_way_is_not_begun_again(tmp_path: Path) -> None:
    inner: list[dict[str, Any]] = []

    def carry_out(say: Tell) -> dict[str, Any]:
        say({"half": True})
        inner.append(detached.run(errand(tmp_path, {"done": True})))
        return {"done": True, "outer": True}

    assert detached.run(Errand("work", tmp_path, {}, carry_out))["last"]["outer"]
    (joined,) = inner
    assert (joined["state"], joined["last"]) == ("running", {"half": True})


def test_one_that_does_not_come_as_far_as_its_lock_says_where_to_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detached, "_detached", lambda errand, writing: os._exit(1))
    with pytest.raises(Refusal) as raised:
        detached.start(errand(tmp_path, {}))
    assert (raised.value.code, raised.value.sentence) == (
        "not_started",
        f"the work did not start; see {tmp_path / 'work.log'}",
    )
