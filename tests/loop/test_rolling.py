"""In which order a fleet is changed, and what ends the change."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.base.errors import BudgetSpent, HostError, LaunchFailed, PreflightRefused
from orchestrator.fleet.replica import Replica
from orchestrator.loop import draining, rolling
from orchestrator.loop import fleet as loop
from orchestrator.loop.fleet import Fleet, FleetMember
from orchestrator.loop.rolling import Rolling
from tests.jobs import Told, job


class Changed:
    """A replica's deployment that notes what is asked of it; `fails`: it does not come up again."""

    def __init__(self, name: str, done: list[str], *, serves: bool, fails: bool) -> None:
        self.name, self.done, self.fails = name, done, fails
        self.serves = serves
        self.reading = self
        self.job = job(told=Told())

    def observe(self) -> tuple[Any, Any]:
        command = {"argv": ["engine"], "note": {}}
        seen = SimpleNamespace(serves=self.serves, launch=1, command=command, endpoint=None)
        return seen, SimpleNamespace(applied=())

    def restart(self) -> None:
        self.done.append(f"restart {self.name}")
        if self.fails:
            self.serves = False
            error = LaunchFailed("no_remedy_left", f"{self.name} failed")
            error.left = {"processes": []}
            raise error
        self.serves = True


class Routed:
    """A router that knows whom it sends requests to."""

    def __init__(self, done: list[str]) -> None:
        self.done = done
        self.out: set[str] = set()

    def begin(self) -> None: ...

    def prove(self) -> None:
        self.done.append("prove")

    def withdraw(self, replica: Replica) -> None:
        self.out.add(replica.name)
        self.done.append(f"withdraw {replica.name}")

    def admit(self, replica: Replica) -> None:
        self.out.discard(replica.name)
        self.done.append(f"admit {replica.name}")

    def listed(self) -> Any:
        return SimpleNamespace(admitted=lambda replica: replica.name not in self.out)


class Made:
    def __init__(self, count: int, *, serving: str = "123", failing: str = "", routed: bool = True) -> None:
        self.done: list[str] = []
        self.members = [
            FleetMember(
                Replica("m", number, "a", "127.0.0.1", 8000 + number),
                Changed(
                    f"m-{number}", self.done, serves=str(number) in serving, fails=str(number) in failing
                ),  # type: ignore[arg-type]
            )
            for number in range(1, count + 1)
        ]
        routing = Routed(self.done) if routed else None
        self.fleet = Fleet(None, self.members, routing, lambda *_: None)  # type: ignore[arg-type]

    def restart(self, min_ready: int, drain_seconds: float = 60.0) -> int:
        return Rolling(self.fleet, min_ready=min_ready, drain_seconds=drain_seconds).restart()


@pytest.fixture(autouse=True)
def left(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """How many requests a replica has, look by look, the last of them from then on; no host is locked, nothing is waited for."""
    counts: list[int | None] = [0]

    @contextmanager
    def unlocked(*_: object) -> Any:
        yield None

    monkeypatch.setattr(loop, "Lock", unlocked)
    monkeypatch.setattr(draining, "in_flight", lambda _: counts.pop(0) if len(counts) > 1 else counts[0])
    monkeypatch.setattr(draining, "INTERVAL_SECONDS", 0.001)
    monkeypatch.setattr(draining, "QUIET_SECONDS", 0.002)
    return counts


def test_each_is_out_of_the_router_while_it_restarts() -> None:
    made = Made(2)
    assert made.restart(1) == 2
    each = [f"{verb} m-{number}" for number in (1, 2) for verb in ("withdraw", "restart", "admit")]
    assert made.done == [*each, "prove"]


def test_it_is_stopped_only_once_it_has_answered_what_it_has(left: list[int | None]) -> None:
    left[:] = [3, 1, 0, 1, None, 0]
    made = Made(1)
    made.restart(0)
    assert left == [0]  # it was looked at until nothing was left, and what came late too
    assert made.done[:2] == ["withdraw m-1", "restart m-1"]


@pytest.mark.parametrize(("stays", "words"), [(2, "still has 2 requests"), (None, "does not tell how many")])
def test_one_that_does_not_become_free_serves_on(
    stays: int | None, words: str, left: list[int | None]
) -> None:
    left[:] = [stays]
    made = Made(2)
    with pytest.raises(BudgetSpent, match=f"m-1 {words}"):
        made.restart(1, drain_seconds=0.01)
    assert made.done == ["withdraw m-1", "admit m-1"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), HostError("connection_lost", "it is gone")])
def test_one_that_was_to_become_free_when_it_was_broken_off_serves_on(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_off(_: object) -> int:
        raise error

    monkeypatch.setattr(draining, "in_flight", broken_off)
    made = Made(2)
    with pytest.raises(type(error)):
        made.restart(1)
    assert made.done == ["withdraw m-1", "admit m-1"]


def test_there_are_never_fewer_than_are_to_be_ready() -> None:
    made = Made(3, serving="12", failing="3")
    with pytest.raises(LaunchFailed, match="m-3 failed"):
        made.restart(2)
    assert made.done == ["restart m-3"]  # the one that serves nobody goes first
    made = Made(2)
    with pytest.raises(
        PreflightRefused, match="1 of 2 replicas would serve while m-1 restarts, and 2 are to"
    ):
        made.restart(2)
    assert made.done == []


def test_one_that_fails_goes_back_and_the_others_are_not_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rolling, "go_back", lambda deployment, before: f"is back at {before.launch}")
    made = Made(3, failing="2")
    with pytest.raises(LaunchFailed) as failed:
        made.restart(2)
    assert failed.value.message == "m-2 failed. m-2 is back at 1; no other was touched after it"
    assert failed.value.left is None
    assert made.done[3:] == ["withdraw m-2", "restart m-2", "admit m-2"]


def test_what_keeps_it_from_going_back_is_told_beside_the_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> str:
        raise LaunchFailed("not_back", "it fails too")

    monkeypatch.setattr(rolling, "go_back", fails)
    made = Made(2, failing="1")
    with pytest.raises(LaunchFailed) as failed:
        made.restart(1)
    assert failed.value.message == "m-1 failed. Nor is it back as it was: it fails too"
    assert made.done == ["withdraw m-1", "restart m-1"]


def test_without_a_router_it_is_told_that_requests_may_be_lost() -> None:
    made = Made(1, routed=False)
    made.restart(0)
    told = made.members[0].job.report._renderer
    assert isinstance(told, Told)
    assert [event.kind for event in told.events] == ["warning"]
