"""How are steps carried out: with whose consent, under which lock, and what is planned anew on the way?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from orchestrator.base.errors import DeployError, PreflightRefused
from orchestrator.job import Job
from orchestrator.launch.failure import Failure
from orchestrator.loop.lock import Lock
from orchestrator.loop.reading import Reading
from orchestrator.steps.course import Course
from orchestrator.steps.step import Onward, Step, Work


class Acting(Reading):
    """One playbook on one host, to be changed."""

    @contextmanager
    def _lock(self, doing: str) -> Iterator[Lock]:
        if not self._looked:
            self._observe()
        with ExitStack() as held:
            with self.job.report.wait("lock", "for the word that nobody else deploys this here"):
                lock = held.enter_context(Lock(self.job, doing))
            yield lock

    def _stands(self, planned: Course, asked: Job, lock: Lock) -> bool:
        """Whether what was planned before the lock was taken is still what is to be done: nobody deployed in between, and
        no person took their time over a consent, which also changes what is planned (`asked`: the job as it was then)."""
        return self.job is asked and lock.free_since(planned.plan.survey.observed.turn)

    def _carry_out(self, course: Course, lock: Lock) -> Failure | Course:
        """Do every step, those that are planned on the way too; gives the last list, or the launch that failed."""
        while True:
            self._permit(course)
            came = self._do(course.steps, lock.require)
            if isinstance(came, Failure):
                return came
            if came in (None, "done"):
                return course
            course = self.course(course.goal, came)

    def _do(self, steps: Sequence[Step], require: Callable[[], None]) -> Failure | Onward | None:
        """Do these steps; ends with the first that fails or leaves what follows to be planned anew."""
        with ExitStack() as until_end:
            work = Work(self.job, require, until_end)
            for step in steps:
                came = step.do(work)
                if came is not None:
                    return came
        return None

    def objection(self, course: Course) -> DeployError | None:
        """What would keep a run from these steps; a consent for which a person can be asked does not."""
        if course.refusals:
            return course.refusals[0]
        if self.job.ask is None:
            for consent, why in course.lacking.items():
                return self._missing(consent, why)
        return None

    def _permit(self, course: Course) -> None:
        """Raise what forbids these steps, and have every consent that they need."""
        if error := self.objection(course):
            raise error
        self._consents(course.lacking)

    def _consents(self, missing: Mapping[str, str]) -> None:
        """Have each consent given by the person, or refuse; `missing` says what asks for it."""
        for consent, why in missing.items():
            error = self._missing(consent, why)
            if self.job.ask is None or not self.job.ask(f"{self._need(consent, why)}. Give it?"):
                raise error
            self.job = self.job.allowing(consent)

    def _missing(self, consent: str, why: str) -> DeployError:
        return PreflightRefused(
            "consent_missing",
            f"{self.job.host.name}: {self._need(consent, why)}",
            consent=consent,
        )

    def _need(self, consent: str, why: str) -> str:
        return f"{self.job.name} needs the consent {consent} ({why})"
