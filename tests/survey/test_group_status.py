"""How hosts stand that serve one model together."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.survey.group_status import group_status


def host(name: str, state: str, exit_code: int | None = None, together: str = "ab") -> dict[str, Any]:
    role = "head" if name == "a" else "worker 1"
    if state == "no answer":
        return {"host": name, "role": role, "error": {"code": "connection_lost", "message": "gone"}}
    group = None if state == "never launched" else {"hosts": list(together), "rank": 0}
    asked = {
        "health": 200 if state == "healthy" else None,
        "models": [],
        "context": None,
        "asked_context": None,
    }
    return {"host": name, "role": role, "state": state, "exit_code": exit_code, "group": group, **asked}


@pytest.mark.parametrize(
    ("head", "worker", "state", "amiss"),
    [
        (("healthy",), ("computing",), "healthy", []),
        (("healthy",), ("healthy",), "healthy", []),
        (("healthy",), ("starting",), "starting", []),
        (("starting",), ("starting",), "starting", []),
        (("starting",), ("computing",), "starting", []),
        (("stopped",), ("stopped",), "stopped", []),
        (("never launched",), ("never launched",), "never launched", []),
        (("stopped",), ("never launched",), "stopped", []),
        (("healthy",), ("dead", 137), "not healthy", ["worker 1 on b: dead, exit status 137"]),
        (("healthy",), ("dead, orphans alive",), "not healthy", ["worker 1 on b: dead, orphans alive"]),
        (("healthy",), ("no answer",), "not healthy", ["worker 1 on b: no answer"]),
        (("no answer",), ("computing",), "not healthy", ["head on a: no answer"]),
        (("healthy",), ("stopped",), "not healthy", ["worker 1 on b: stopped"]),
        (("stopped",), ("computing",), "not healthy", ["head on a: stopped"]),
        (("running, not healthy",), ("computing",), "not healthy", ["head on a: running, not healthy"]),
        (("dead", 1), ("dead", 1), "dead", ["head on a: dead, exit status 1", "worker 1 on b: dead, exit status 1"]),
        (("healthy",), ("computing", None, "bc"), "not healthy", ["worker 1 on b runs a launch of its own"]),
    ],
)  # fmt: skip
def test_it_is_as_well_as_all_of_its_hosts(
    head: tuple[Any, ...], worker: tuple[Any, ...], state: str, amiss: list[str]
) -> None:
    told = group_status("x", "x", [host("a", *head), host("b", *worker)])
    assert (told["state"], told["amiss"]) == (state, amiss)


def test_hosts_that_serve_with_these_and_are_not_named_are_told() -> None:
    there = [host("a", "healthy", together="abc"), host("b", "computing", together="abc")]
    state = group_status("x", "x", there)
    assert (state["state"], state["amiss"]) == ("healthy", ["not looked at, as they are not named: c"])
    stopped = [host(name, "stopped", together="abc") for name in "ab"]
    assert group_status("x", "x", stopped)["amiss"] == []
