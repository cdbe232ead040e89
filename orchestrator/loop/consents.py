"""Whose consent do steps need, and what is done where it is missing?"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from orchestrator.base.errors import DeployError, PreflightRefused
from orchestrator.job import Job
from orchestrator.loop.reading import Reading
from orchestrator.steps.course import Course


def objection(job: Job, course: Course) -> DeployError | None:
    """What would keep a run from these steps; a consent for which a person can be asked does not."""
    if course.refusals:
        return course.refusals[0]
    if job.ask is None:
        for consent, why in course.lacking.items():
            return _missing(job, consent, why)
    return None


class Consents:
    """What a person was asked in one run: the same question about the same model is put once, whichever host needs it."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, ...], bool] = {}
        self._asking = threading.Lock()

    def permit(self, reading: Reading, course: Course) -> None:
        """Raise what forbids these steps, and have every consent that they need."""
        if error := objection(reading.job, course):
            raise error
        self.have(reading, course.lacking)

    def have(self, reading: Reading, lacking: Mapping[str, str]) -> None:
        """Have each consent given by the person, or refuse; `lacking` says what asks for it."""
        for consent, why in lacking.items():
            if not self._given(reading.job, consent, why):
                raise _missing(reading.job, consent, why)
            reading.job = reading.job.allowing(consent)

    def _given(self, job: Job, consent: str, why: str) -> bool:
        if job.ask is None:
            return False
        model = job.playbook.model
        question = (consent, why, job.name, model.repository or "", model.revision)
        with self._asking:
            if question not in self._answers:
                self._answers[question] = job.ask(f"{_need(job, consent, why)}. Give it?")
            return self._answers[question]


def _missing(job: Job, consent: str, why: str) -> DeployError:
    need = _need(job, consent, why)
    return PreflightRefused("consent_missing", f"{job.host.name}: {need}", consent=consent)


def _need(job: Job, consent: str, why: str) -> str:
    return f"{job.name} needs the consent {consent} ({why})"
