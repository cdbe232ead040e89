"""How are steps carried out, and what is planned anew on the way?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from orchestrator.launch.failure import Failure
from orchestrator.loop.consents import permit
from orchestrator.loop.reading import Reading
from orchestrator.steps.course import Course
from orchestrator.steps.step import Onward, Step, Work


class Acting:
    """One playbook on one host, to be changed. `require` raises where the lock is no longer held."""

    def __init__(self, reading: Reading, require: Callable[[], None]) -> None:
        self.reading = reading
        self._require = require

    def carry_out(self, course: Course) -> Failure | Course:
        """Do every step, those that are planned on the way too; gives the last list, or the launch that failed."""
        while True:
            permit(self.reading, course)
            end = self.do(course.steps)
            if isinstance(end, Failure):
                return end
            if end in (None, "done"):
                return course
            course = self.reading.course(course.goal, end)

    def do(self, steps: Sequence[Step]) -> Failure | Onward | None:
        """Do these steps; ends with the first that fails or leaves what follows to be planned anew."""
        with ExitStack() as until_end:
            work = Work(self.reading.job, self._require, until_end)
            for step in steps:
                end = step.do(work)
                if end is not None:
                    return end
        return None
