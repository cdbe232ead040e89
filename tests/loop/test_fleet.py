"""In which order replicas come up, and what a failure of one stops."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.base.errors import DeployError, LaunchFailed, UsageError
from orchestrator.fleet.replica import Replica
from orchestrator.loop import fleet as loop
from orchestrator.loop.fleet import Fleet, FleetMember
from orchestrator.survey.journal import Outcome


class Deployed:
    """A deployment that notes what is asked of it, and fails where it is told to."""

    def __init__(self, name: str, done: list[str], *, serves: bool, fails: bool, stopped: bool) -> None:
        self.name, self.done, self.fails, self.stopped = name, done, fails, stopped
        self.halfway = False
        self.serves = serves
        self.launch = 1 if serves or stopped else None
        self.reading = self
        self.job: Any = None

    def observe(self) -> tuple[Any, Any]:
        return self, SimpleNamespace(
            outcome=Outcome(1, "stopped" if self.stopped else "healthy", halfway=self.halfway)
        )

    def up(self) -> None:
        self._come("up")

    def remediate(self) -> None:
        self._come("remediate")

    def _come(self, verb: str) -> None:
        self.done.append(f"{verb} {self.name}")
        self.launch = 1
        if self.fails:
            raise LaunchFailed("no_remedy_left", f"{self.name} failed")

    def stop(self) -> None:
        self.done.append(f"stop {self.name}")


class Routed:
    """A router that notes what it is told."""

    def __init__(self, done: list[str]) -> None:
        self.done = done
        self.kept: list[str] = []

    def __getattr__(self, verb: str) -> Any:
        if verb == "keep":
            return lambda replicas: self.kept.extend(replica.name for replica in replicas)
        return lambda *words: self.done.append(" ".join([verb, *(replica.name for replica in words)]))


class Made:
    """A fleet of which some replicas serve already, and some fail."""

    def __init__(
        self, count: int, *, serving: str = "", failing: str = "", stopped: str = "", fail_fast: bool = False
    ) -> None:
        self.done: list[str] = []
        self.failed: list[str] = []
        members = [
            FleetMember(
                Replica("m", number, "a", "127.0.0.1", 8000 + number),
                Deployed(  # type: ignore[arg-type]
                    f"m-{number}",
                    self.done,
                    serves=str(number) in serving,
                    fails=str(number) in failing,
                    stopped=str(number) in stopped,
                ),
            )
            for number in range(1, count + 1)
        ]
        self.router = Routed(self.done)
        self.fleet = Fleet(None, members, self.router, self.tell, fail_fast=fail_fast)  # type: ignore[arg-type]

    def tell(self, member: FleetMember, error: DeployError) -> None:
        self.failed.append(member.replica.name)


@pytest.fixture(autouse=True)
def inherited(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[str]]]:
    """What healed whom; no host is locked."""
    passed_on: list[tuple[str, list[str]]] = []

    def inherit(healthy: Any, others: Any) -> None:
        passed_on.append((healthy.name, [other.name for other in others]))

    @contextmanager
    def unlocked(*_: object) -> Any:
        yield None

    monkeypatch.setattr(loop, "inherit", inherit)
    monkeypatch.setattr(loop, "Lock", unlocked)
    return passed_on


def test_the_first_goes_alone_and_what_healed_it_is_passed_on(inherited: list[Any]) -> None:
    made = Made(3)
    assert made.fleet.up() == 3
    assert made.done[:3] == ["begin", "up m-1", "admit m-1"]
    assert set(made.done[3:]) == {"up m-2", "admit m-2", "up m-3", "admit m-3", "prove"}
    assert inherited == [("m-1", ["m-2", "m-3"])]


def test_where_one_serves_already_the_others_follow_it_at_once(inherited: list[Any]) -> None:
    made = Made(3, serving="2")
    assert made.fleet.up() == 3
    assert inherited == [("m-2", ["m-1", "m-3"])]


def test_one_of_each_new_host_goes_before_the_others_there() -> None:
    made = Made(5)
    made.fleet.members = tuple(
        FleetMember(replace(member.replica, host="a" if number < 2 else "b"), member.deployment)
        for number, member in enumerate(made.fleet.members)
    )
    assert made.fleet.up() == 5
    ups = [line for line in made.done if line.startswith("up ")]
    assert ups[:2] == ["up m-1", "up m-3"]
    assert set(ups[2:]) == {"up m-2", "up m-4", "up m-5"}


def test_one_that_fails_stops_no_other(inherited: list[Any]) -> None:
    made = Made(3, failing="1")
    assert made.fleet.up() == 2
    assert made.failed == ["m-1"]
    assert "admit m-1" not in made.done
    assert made.done[-1] == "prove"
    assert inherited == []


def test_it_does_where_that_is_asked_for() -> None:
    made = Made(3, failing="1", fail_fast=True)
    assert made.fleet.up() == 0
    assert made.done == ["begin", "up m-1"]


def scaled_down(monkeypatch: pytest.MonkeyPatch, **more: Any) -> tuple[Made, int]:
    """A fleet of three once it is to have one replica."""
    made = Made(3, **more)
    monkeypatch.setattr(loop, "drain", lambda _job, replica, *_: made.done.append(f"drain {replica.name}"))
    surplus = made.fleet.members[1:]
    made.fleet.members = made.fleet.members[:1]
    return made, made.fleet.up(surplus)


def test_what_is_too_many_has_answered_what_it_has_before_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    made, healthy = scaled_down(monkeypatch, serving="12")
    assert healthy == 1
    ends = made.done[made.done.index("prove") + 1 :]
    assert sorted(ends) == ["drain m-2", "stop m-2", "stop m-3", "withdraw m-3"]
    assert ends.index("drain m-2") < ends.index("stop m-2")
    assert made.router.kept == ["m-1"]


def test_what_is_too_many_serves_on_where_nothing_else_would(monkeypatch: pytest.MonkeyPatch) -> None:
    made, healthy = scaled_down(monkeypatch, serving="23", failing="1")
    assert (healthy, made.failed) == (0, ["m-1"])
    assert not [word for word in made.done if word.startswith(("drain", "stop"))]
    assert made.router.kept == ["m-1", "m-2", "m-3"]


def test_only_what_has_fallen_is_brought_back(inherited: list[Any]) -> None:
    made = Made(4, serving="13", stopped="4")
    assert made.fleet.remediate() == 3
    assert made.done == ["begin", "remediate m-2", "admit m-2", "admit m-1", "admit m-3", "prove"]
    assert inherited == [("m-1", ["m-2"])]


def test_one_that_cannot_be_brought_back_is_told_and_the_others_serve() -> None:
    made = Made(2, serving="1", failing="2")
    assert made.fleet.remediate() == 1
    assert made.failed == ["m-2"]
    assert "admit m-2" not in made.done


def test_where_all_have_fallen_the_first_goes_alone(inherited: list[Any]) -> None:
    made = Made(3, stopped="1")
    assert made.fleet.remediate() == 2
    assert made.done[:3] == ["begin", "remediate m-2", "admit m-2"]
    assert inherited == [("m-2", ["m-3"])]


def test_what_was_stopped_has_not_fallen() -> None:
    made = Made(2, stopped="12")
    with pytest.raises(UsageError) as raised:
        made.fleet.remediate()
    assert (raised.value.code, made.done) == ("all_stopped", [])  # no router is started for nothing


def test_one_whose_restart_was_interrupted_has_fallen() -> None:
    made = Made(2, serving="1", stopped="2")
    made.fleet.members[1].deployment.halfway = True  # type: ignore[attr-defined]
    assert made.fleet.remediate() == 2


def test_the_router_ends_before_what_it_passes_requests_to() -> None:
    made = Made(2)
    assert made.fleet.stop()
    assert made.done[0] == "end"
    assert set(made.done[1:]) == {"stop m-1", "stop m-2"}
