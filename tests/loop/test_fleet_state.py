"""How a fleet is said to be."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.fleet.replica import Replica
from orchestrator.loop import fleet_state
from orchestrator.loop.fleet import FleetMember
from orchestrator.loop.fleet_state import state_of
from orchestrator.survey.journal import Outcome


def member(number: int, host: str, *patches: dict[str, Any]) -> FleetMember:
    state = {"state": "healthy", "launch": 1, "context": 1, "patches": list(patches), "outcome": None}
    reading = SimpleNamespace(status=lambda: state, job=None)
    replica = Replica("m", number, host, "127.0.0.1", 8000 + number)
    return FleetMember(replica, SimpleNamespace(reading=reading))  # type: ignore[arg-type]


def test_what_is_edited_is_in_force_for_all_that_share_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_state, "in_flight", lambda job: 0)
    edited = {"patch": "fp8-kv-mla", "files": ["config.json"]}
    option = {"patch": "eager", "files": []}
    members = (member(1, "a", edited, option), member(2, "a"), member(3, "b"))
    state = state_of("m", members, None, {})
    assert [each["patches"] for each in state["replicas"]] == [["fp8-kv-mla", "eager"], ["fp8-kv-mla"], []]
    assert "edits" not in state["replicas"][0]


@pytest.mark.parametrize(("result", "state"), [("stopped", "stopped"), ("healthy", "dead")])
def test_a_router_that_was_stopped_did_not_die(result: str, state: str) -> None:
    observed = SimpleNamespace(alive=False, launch=1, log=None, endpoint=SimpleNamespace(host="h", port=1))
    history = SimpleNamespace(outcome=Outcome(1, result))
    routing: Any = SimpleNamespace(
        reading=SimpleNamespace(observe=lambda: (observed, history)),
        answers=lambda _: False,
        job=SimpleNamespace(name="m-router", host=SimpleNamespace(name="a")),
    )
    assert state_of("m", (), routing, {})["router"]["state"] == state
