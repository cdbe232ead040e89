"""How do the hosts of a group act side by side, and which of their failures counts?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from orchestrator.base.errors import DeployError, Halted
from orchestrator.launch.failure import Failure
from orchestrator.loop.acting import Acting
from orchestrator.loop.barriers import Barriers, Stride
from orchestrator.loop.side_by_side import side_by_side
from orchestrator.plan.change import Change
from orchestrator.plan.plan import Plan
from orchestrator.steps.clean import Clean
from orchestrator.steps.course import Course
from orchestrator.steps.patch import PatchStep
from orchestrator.steps.revert import Revert
from orchestrator.steps.step import Onward

T = TypeVar("T")


@dataclass(frozen=True)
class Fall:
    """The failure for which a group fell, the host of it, and what each host has to do with it, in sentences. `failures`: how the
    launch of each host stood that was looked at then."""

    acting: Acting
    failure: Failure
    hosts: tuple[str, ...] = ()
    failures: tuple[tuple[Acting, Failure], ...] = ()
    apart: bool = False
    """Whether it is that the hosts do not reach each other."""


class Together:
    """All hosts of a group, to be changed."""

    def __init__(self, hosts: Sequence[Acting]) -> None:
        self.hosts = tuple(hosts)

    def each(self, work: Callable[[Acting], T]) -> list[T]:
        """What `work` comes to on each host, side by side."""

        def named(acting: Acting) -> T:
            with acting.reading.named():
                return work(acting)

        return side_by_side([partial(named, acting) for acting in self.hosts])

    def others(self, acting: Acting) -> Together:
        """The group without one of its hosts."""
        return Together([host for host in self.hosts if host is not acting])

    def carry_out(self, courses: Sequence[Course]) -> tuple[Course, ...] | Fall:
        """Carry each host's list out, with what is planned on the way; gives the last lists, or what failed first."""
        ends = self._paced(lambda acting, course, stride: acting.carry_out(course, stride), courses)
        if isinstance(ends, Fall):
            return ends
        if "fetch" in ends:  # ranks that live never meet one that is started anew
            goal = courses[0].goal
            return self.carry_out(self.each(lambda acting: acting.reading.course(goal, "fetch")))
        return tuple(end for end in ends if isinstance(end, Course))

    def do(self, courses: Sequence[Course]) -> tuple[Onward | Course | None, ...] | Fall:
        """Do each host's list, and nothing that would be planned on the way."""
        return self._paced(lambda acting, course, stride: acting.do(course.steps, stride), courses)

    def _paced(
        self,
        work: Callable[[Acting, Course, Stride], Failure | Course | Onward | None],
        courses: Sequence[Course],
    ) -> tuple[Onward | Course | None, ...] | Fall:
        barriers = Barriers(len(self.hosts))

        def go(acting: Acting, course: Course, stride: Stride) -> Failure | Course | Onward | None:
            try:
                with acting.reading.named():
                    end = work(acting, course, stride)
            except Halted:
                return None
            if isinstance(end, Failure):
                barriers.fall()
            elif end == "fetch":
                barriers.halt()
            stride.end()
            return end

        calls = [
            partial(go, acting, course, stride)
            for acting, course, stride in zip(self.hosts, courses, barriers.strides, strict=True)
        ]
        ends = side_by_side(calls, barriers.halt)
        failed = [
            (acting, end) for acting, end in zip(self.hosts, ends, strict=True) if isinstance(end, Failure)
        ]
        if failed:
            jobs = [acting.reading.job for acting, _ in failed]
            grammar = jobs[0].playbook.kind.log
            from orchestrator.loop.falling import (  # what reads logs is imported where one failed
                as_apart,
                whose,
            )

            number, words, apart = whose(
                [job.host.name for job in jobs], [failure for _, failure in failed], grammar
            )
            acting, failure = failed[number]
            return Fall(acting, as_apart(failure) if apart else failure, words, tuple(failed), apart)
        return tuple(end for end in ends if not isinstance(end, Failure))

    def end(self) -> None:
        """End every launch that is there."""
        self.each(_end)

    def patch(self, plans: Sequence[Plan], changes: Sequence[Sequence[Change]], cause: str) -> None:
        """Apply changes on every host that has any, or, where one of them refuses, on none."""
        try:
            for acting, plan, own in zip(self.hosts, plans, changes, strict=True):
                with acting.reading.named():
                    acting.do([PatchStep(plan, tuple(own), cause)])
        except DeployError:
            if len(self.hosts) > 1:
                self._withdraw(plans, changes)
            raise

    def _withdraw(self, plans: Sequence[Plan], changes: Sequence[Sequence[Change]]) -> None:
        """Take back, as far as the hosts answer, what was applied of these changes since it was planned."""
        for acting, plan, own in zip(self.hosts, plans, changes, strict=True):
            with suppress(DeployError):  # the step's line tells it, and what led here says more
                history = acting.reading.survey().history if own else plan.survey.history
                for change in own:
                    applied = history.patch(change.patch.id)
                    if applied is not None and applied != plan.survey.history.patch(change.patch.id):
                        acting.do([Revert(applied, by_person=False, withdrawn=True)])


def _end(acting: Acting) -> None:
    observed, history = acting.reading.observe()
    if observed.launch is not None and not history.cleaned:
        acting.do([Clean(observed)])
