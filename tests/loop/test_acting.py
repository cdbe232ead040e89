"""Steps are carried out in their order, to the first that fails or changes what follows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from orchestrator.base.errors import PreflightRefused
from orchestrator.diagnosis.verdict import Diagnosis
from orchestrator.job import Job
from orchestrator.launch.failure import Failure
from orchestrator.launch.watch import Seen
from orchestrator.loop.acting import Acting
from orchestrator.plan.plan import Wishes, make_plan
from orchestrator.steps.course import Course, course
from orchestrator.steps.step import Effects, Onward, Step, Work
from tests.jobs import PATCHES, job
from tests.surveys import MEMBER, NEVER_LAUNCHED, listener, survey

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


class Alone(Acting):
    """What is planned on the way is given, not surveyed."""

    def __init__(self, asked: Job, *onward: Course) -> None:
        super().__init__(asked)
        self.onward = list(onward)
        self.begun: list[object] = []

    def course(self, goal: object = "up", begin: object = None) -> Course:
        self.begun.append(begin)
        return self.onward.pop(0)


class Held:
    require: Callable[[], None] = staticmethod(lambda: None)


def steps(*named: Step) -> Course:
    found = survey()
    return Course("up", make_plan("gpu7", job().playbook, found, job().wishes), named, (), {})


def carry_out(acting: Acting, planned: Course) -> Failure | Course:
    return acting._carry_out(planned, Held())  # type: ignore[arg-type]


def test_all_steps_are_done_in_order() -> None:
    done: list[str] = []
    planned = steps(Named(done, "a"), Named(done, "b"))
    assert carry_out(Alone(job()), planned) is planned
    assert done == ["a", "b"]


def test_a_failure_ends_the_list() -> None:
    done: list[str] = []
    planned = steps(Named(done, "a", FAILED), Named(done, "b"))
    assert carry_out(Alone(job()), planned) is FAILED
    assert done == ["a"]


def test_a_step_that_changed_something_leaves_the_rest_to_be_planned_anew() -> None:
    done: list[str] = []
    rest = steps(Named(done, "c"))
    acting = Alone(job(), rest)
    assert carry_out(acting, steps(Named(done, "a", "verify"), Named(done, "b"))) is rest
    assert (done, acting.begun) == (["a", "c"], ["verify"])


def test_where_nothing_is_left_to_do_the_list_ends() -> None:
    done: list[str] = []
    planned = steps(Named(done, "a", "done"), Named(done, "b"))
    assert carry_out(Alone(job()), planned) is planned
    assert done == ["a"]


def test_what_is_planned_on_the_way_may_be_refused() -> None:
    done: list[str] = []
    refused = replace(steps(Named(done, "c")), refusals=(PreflightRefused("gpus_missing", "x"),))
    with pytest.raises(PreflightRefused, match="x"):
        carry_out(Alone(job(), refused), steps(Named(done, "a", "fetch")))
    assert done == ["a"]


def without_consents(**more: object) -> Job:
    asked = job(wishes=Wishes(patches=PATCHES), **more)
    return replace(asked, playbook=asked.playbook.model_copy(update={"consents": ()}))


def planned_for(asked: Job) -> Course:
    return course(asked, make_plan("gpu7", asked.playbook, survey(), asked.wishes), "up")


def test_a_missing_consent_keeps_a_run_from_it_where_nobody_can_be_asked() -> None:
    asked = without_consents()
    planned = planned_for(asked)
    error = Acting(asked).objection(planned)
    assert error is not None
    assert (error.code, error.exit_code) == ("consent_missing", 4)
    assert error.known["consent"] == next(iter(planned.lacking))
    asked = without_consents(ask=lambda question: True)
    assert Acting(asked).objection(planned_for(asked)) is None


def test_a_consent_that_a_person_gives_makes_what_was_planned_old() -> None:
    asked = without_consents(ask=lambda question: True)
    acting, planned = Acting(asked), planned_for(asked)
    acting._permit(planned)
    assert set(acting.job.consents) == {"trust-remote-code", "listen-openly"}

    class Free(Held):
        def free_since(self, seen: str | None) -> bool:
            return True

    assert not acting._stands(planned, asked, Free())  # type: ignore[arg-type]
    assert acting._stands(planned, acting.job, Free())  # type: ignore[arg-type]


def test_a_shared_port_is_an_objection() -> None:
    shared = replace(NEVER_LAUNCHED, launch=1, members=(MEMBER,), listener=listener(pid=2))
    plan = make_plan("gpu7", job().playbook, survey(observed=shared), job().wishes)
    error = Acting(job()).objection(course(job(), plan, "up"))
    assert error is not None
    assert error.code == "port_shared"
