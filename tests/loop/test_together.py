"""Hosts act side by side, wait for each other at barriers, and fall by their first failure."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from orchestrator.base.errors import HostError
from orchestrator.diagnosis.verdict import Diagnosis
from orchestrator.engines.node import Node
from orchestrator.launch.failure import Failure
from orchestrator.launch.watch import Seen
from orchestrator.loop.acting import Acting
from orchestrator.loop.consents import Consents
from orchestrator.loop.reading import Reading
from orchestrator.loop.together import Fall, Together
from orchestrator.steps.course import Course
from orchestrator.steps.step import Effects, Onward, Stage, Step, Work
from tests.jobs import job
from tests.steps.doing import plan

SECONDS = 30.0


def failed(at: float = 0.0) -> Failure:
    return Failure(1, Seen("exited", at=at), Diagnosis(verdict="unknown_fault"), came=at)


@dataclass(frozen=True)
class Doing(Step):
    """Does what a test says."""

    name = "doing"
    work: Callable[[Work], Failure | Onward | None] = field(default=lambda work: None)

    @property
    def effects(self) -> Effects:
        return Effects(())

    def do(self, work: Work) -> Failure | Onward | None:
        return self.work(work)


@dataclass(frozen=True)
class Ready(Doing):
    together = Stage.COMPLETION
    dies: bool = False

    def meanwhile(self, work: Work) -> Failure | None:
        return failed() if self.dies else None


class Launching(Doing):
    together = Stage.LAUNCH


def follow(work: Work) -> None:
    """Until the group goes on no further."""
    pause = threading.Event()
    while not pause.wait(0.01):
        work.proceed()


def carry_out(*lists: tuple[Step, ...]) -> tuple[Course, ...] | Fall:
    hosts = [
        Acting(Reading(job(), f"role{number}"), Consents(), lambda: None) for number in range(len(lists))
    ]
    return Together(hosts).carry_out([Course("up", plan(), steps, (), {}) for steps in lists])


@pytest.mark.parametrize("spread", [True, False])
def test_what_is_started_anew_on_one_host_of_a_model_is_so_on_all(
    monkeypatch: pytest.MonkeyPatch, spread: bool
) -> None:
    """Ranks of an older launch never meet those of a new one; deployments of their own only wait for each other."""
    anew: list[tuple[str, object]] = []

    def planned(reading: Reading, goal: str, begin: object = None) -> Course:
        anew.append((reading.role, begin))
        return Course("up", plan(), (Doing(),), (), {})

    monkeypatch.setattr(Reading, "course", planned)
    asked = job()
    hosts = [
        replace(asked, playbook=asked.playbook.as_node(Node(rank, 2, "10.0.0.1", 29501, "10.0.0.1", "eth0")))
        if spread
        else asked
        for rank in (0, 1)
    ]
    together = Together(
        [Acting(Reading(own, f"role{rank}"), Consents(), lambda: None) for rank, own in enumerate(hosts)]
    )
    lives = (Doing(follow),) if spread else (Doing(),)
    courses = [Course("up", plan(), steps, (), {}) for steps in ((Doing(lambda work: "fetch"),), lives)]
    ends = together.carry_out(courses)
    assert not isinstance(ends, Fall) and len(ends) == 2
    assert sorted(anew) == ([("role0", "fetch"), ("role1", "fetch")] if spread else [("role0", "fetch")])


def test_nobody_launches_before_all_are_prepared() -> None:
    done: list[str] = []
    slow = threading.Event()

    def prepare(work: Work) -> None:
        assert slow.wait(SECONDS)
        done.append("prepared")

    def quick(work: Work) -> None:
        done.append("prepared")
        threading.Timer(0.3, slow.set).start()

    launch = Launching(lambda work: done.append("launched"))
    ends = carry_out((Doing(quick), launch), (Doing(prepare), launch))
    assert not isinstance(ends, Fall)
    assert done == ["prepared", "prepared", "launched", "launched"]


def test_a_host_that_has_nothing_to_launch_is_not_waited_for() -> None:
    done: list[str] = []
    carry_out((Launching(lambda work: done.append("launched")),), (Doing(),))
    assert done == ["launched"]


@pytest.mark.parametrize(("first", "second", "counts"), [(1.0, 2.0, "role0"), (2.0, 1.0, "role1")])
def test_the_failure_that_was_seen_first_counts(first: float, second: float, counts: str) -> None:
    both = threading.Barrier(2, timeout=SECONDS)

    def fail(at: float) -> Callable[[Work], Failure]:
        def do(work: Work) -> Failure:
            both.wait()
            return failed(at)

        return do

    fall = carry_out((Doing(fail(first)),), (Doing(fail(second)),))
    assert isinstance(fall, Fall)
    assert fall.acting.reading.role == counts


def test_when_one_fails_the_others_are_followed_no_longer() -> None:
    fall = carry_out((Doing(follow),), (Doing(lambda work: failed()),))
    assert isinstance(fall, Fall)
    assert fall.acting.reading.role == "role1"


def test_one_that_is_ready_is_looked_at_while_the_others_are_waited_for() -> None:
    fall = carry_out((Ready(dies=True),), (Doing(follow),))
    assert isinstance(fall, Fall)
    assert fall.acting.reading.role == "role0"


def test_an_error_of_one_lets_the_others_go_and_says_whose_it_is() -> None:
    def lose(work: Work) -> None:
        raise HostError("connection_lost", "gpu7: the connection was lost")

    with pytest.raises(HostError) as raised:
        carry_out((Doing(follow),), (Doing(lose),))
    assert raised.value.message == "role1 on gpu7: the connection was lost"
    assert raised.value.known["role"] == "role1"
