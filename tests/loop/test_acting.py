"""Steps are carried out in their order, to the first that fails or changes what follows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from orchestrator.base.errors import Halted, PreflightRefused
from orchestrator.diagnosis.verdict import Diagnosis
from orchestrator.job import Job
from orchestrator.launch.failure import Failure
from orchestrator.launch.watch import Seen
from orchestrator.loop.acting import Acting
from orchestrator.loop.barriers import Barriers
from orchestrator.loop.consents import Consents
from orchestrator.loop.reading import Reading
from orchestrator.plan.plan import make_plan
from orchestrator.steps.course import Course
from orchestrator.steps.step import Effects, Onward, Step, Work
from tests.jobs import job
from tests.surveys import survey

FAILED = Failure(1, Seen("exited"), Diagnosis(verdict="unknown_fault"))


@dataclass(frozen=True)
class Named(Step):
    name = "named"
    done: list[str]
    word: str
    came: Failure | Onward | None = None

    @property
    def effects(self) -> Effects:
        return Effects((self.word,))

    def do(self, work: Work) -> Failure | Onward | None:
        work.require()
        self.done.append(self.word)
        return self.came


class Planned(Reading):
    """What is planned on the way is given, not surveyed."""

    def __init__(self, asked: Job, *onward: Course) -> None:
        super().__init__(asked)
        self.onward = list(onward)
        self.begun: list[object] = []

    def course(self, goal: object = "up", begin: object = None) -> Course:
        self.begun.append(begin)
        return self.onward.pop(0)


def steps(*named: Step) -> Course:
    found = survey()
    return Course("up", make_plan("gpu7", job().playbook, found, job().wishes), named, (), {})


def carry_out(reading: Reading, planned: Course) -> Failure | Course:
    return Acting(reading, Consents(), lambda: None).carry_out(planned)


def test_all_steps_are_done_in_order() -> None:
    done: list[str] = []
    planned = steps(Named(done, "a"), Named(done, "b"))
    assert carry_out(Planned(job()), planned) is planned
    assert done == ["a", "b"]


def test_a_failure_ends_the_list() -> None:
    done: list[str] = []
    planned = steps(Named(done, "a", FAILED), Named(done, "b"))
    assert carry_out(Planned(job()), planned) is FAILED
    assert done == ["a"]


def test_a_step_that_changed_something_leaves_the_rest_to_be_planned_anew() -> None:
    done: list[str] = []
    rest = steps(Named(done, "c"))
    reading = Planned(job(), rest)
    assert carry_out(reading, steps(Named(done, "a", "verify"), Named(done, "b"))) is rest
    assert (done, reading.begun) == (["a", "c"], ["verify"])


def test_where_nothing_is_left_to_do_the_list_ends() -> None:
    done: list[str] = []
    planned = steps(Named(done, "a", "done"), Named(done, "b"))
    assert carry_out(Planned(job()), planned) is planned
    assert done == ["a"]


def test_what_is_planned_on_the_way_may_be_refused() -> None:
    done: list[str] = []
    refused = replace(steps(Named(done, "c")), refusals=(PreflightRefused("gpus_missing", "x"),))
    with pytest.raises(PreflightRefused, match="x"):
        carry_out(Planned(job(), refused), steps(Named(done, "a", "fetch")))
    assert done == ["a"]


class Overheard:
    """A launch that says something when another of its group has failed."""

    def overheard(self) -> Failure:
        return FAILED


@dataclass(frozen=True)
class Following(Step):
    """Follows a launch, or none, until its group goes on no further."""

    name = "following"
    ends: Callable[[], None]
    launch: Overheard | None

    @property
    def effects(self) -> Effects:
        return Effects(())

    def do(self, work: Work) -> None:
        work._attempt = self.launch  # type: ignore[assignment]
        self.ends()
        work.proceed()


def test_a_list_that_goes_on_no_further_ends_with_what_its_launch_says_of_a_failure_elsewhere() -> None:
    acting = Acting(Reading(job()), Consents(), lambda: None)
    barriers = Barriers(2)
    assert acting.do([Following(barriers.fall, Overheard())], barriers.strides[0]) is FAILED
    with pytest.raises(Halted):
        acting.do([Following(barriers.fall, None)], barriers.strides[0])
    interrupted = Barriers(2)
    with pytest.raises(Halted):
        acting.do([Following(interrupted.halt, Overheard())], interrupted.strides[0])


@dataclass(frozen=True)
class Earlier(Following):
    """Follows what an earlier run started."""

    @property
    def looks_back(self) -> bool:
        return True


@pytest.mark.parametrize(("step", "is_read"), [(Earlier, True), (Following, False)])
def test_the_log_of_an_earlier_launch_is_read_though_another_host_has_failed_already(
    step: type[Following], is_read: bool
) -> None:
    barriers = Barriers(2)
    barriers.fall()
    acting = Acting(Reading(job()), Consents(), lambda: None)
    steps = [step(lambda: None, Overheard())]
    if is_read:
        assert acting.do(steps, barriers.strides[0]) is FAILED
    else:
        with pytest.raises(Halted):
            acting.do(steps, barriers.strides[0])
