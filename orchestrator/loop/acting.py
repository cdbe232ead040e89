"""How are steps carried out on one host, and what is planned anew on the way?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Literal

from orchestrator.base.errors import Halted
from orchestrator.launch.failure import Failure
from orchestrator.loop import between
from orchestrator.loop.barriers import Stride, alone
from orchestrator.loop.consents import Consents
from orchestrator.loop.reading import Reading
from orchestrator.steps.course import Course
from orchestrator.steps.launch import LaunchStep
from orchestrator.steps.step import Onward, Step, Work


class Acting:
    """One host of a group, to be changed. `require` raises where a lock is no longer held."""

    def __init__(self, reading: Reading, consents: Consents, require: Callable[[], None]) -> None:
        self.reading = reading
        self.consents = consents
        self._require = require
        self.prepared = False
        """Whether it came as far as a launch: its checkpoint is whole."""

    def carry_out(self, course: Course, stride: Stride | None = None) -> Failure | Course | Literal["fetch"]:
        """Do every step, those that are planned on the way too; gives the last list, or the launch that failed.

        On one of several hosts that serve one model "fetch" is an end: what is to be started anew there is so on all of them.
        """
        while True:
            self.consents.permit(self.reading, course)
            end = self.do(course.steps, stride)
            if isinstance(end, Failure):
                return end
            if end in (None, "done"):
                return course
            if end == "fetch" and self.reading.job.playbook.node is not None:
                return end
            course = self.reading.course(course.goal, end)

    def do(self, steps: Sequence[Step], stride: Stride | None = None) -> Failure | Onward | None:
        """Do these steps; ends with the first that fails or leaves what follows to be planned anew.

        Where another host of the group fails meanwhile, with what the launch that is followed here says of that.
        """
        stride = stride or alone()
        stride.begin()
        with ExitStack() as until_end:
            work = Work(self.reading.job, self._require, until_end, stride, self.reading.exchange)
            try:
                for step in steps:
                    end = self._wait(step, work, stride) or step.do(work)
                    self.reading.context = work.context
                    if end is not None:
                        return end
            except Halted:
                if stride.fallen and (overheard := work.overheard()) is not None:
                    return overheard
                raise
        return None

    def _wait(self, step: Step, work: Work, stride: Stride) -> Failure | Onward | None:
        """Wait for the others where a step is a barrier; an end while it is waited is as that of a step."""
        if not step.looks_back:
            stride.proceed()
        if step.together is None:
            return None
        if isinstance(step, LaunchStep):
            self.prepared = True
            stride.bring(self.reading.job.host.name, step.plan)
        stride.come_to(step.together)
        while not stride.all_at(step.together):
            if end := step.meanwhile(work):
                return end
        if isinstance(step, LaunchStep) and (refused := between.by_now(self.reading.job, stride.plans)):
            raise refused
        return None
