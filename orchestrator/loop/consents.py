"""Whose consent do steps need, and what is done where it is missing?"""

from __future__ import annotations

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


def permit(reading: Reading, course: Course) -> None:
    """Raise what forbids these steps, and have every consent that they need."""
    if error := objection(reading.job, course):
        raise error
    have(reading, course.lacking)


def have(reading: Reading, lacking: Mapping[str, str]) -> None:
    """Have each consent given by the person, or refuse; `lacking` says what asks for it."""
    for consent, why in lacking.items():
        job = reading.job
        if job.ask is None or not job.ask(f"{_need(job, consent, why)}. Give it?"):
            raise _missing(job, consent, why)
        reading.job = job.allowing(consent)


def _missing(job: Job, consent: str, why: str) -> DeployError:
    need = _need(job, consent, why)
    return PreflightRefused("consent_missing", f"{job.host.name}: {need}", consent=consent)


def _need(job: Job, consent: str, why: str) -> str:
    return f"{job.name} needs the consent {consent} ({why})"
