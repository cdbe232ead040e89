"""What would a verb do on a host that nobody asks?"""

from __future__ import annotations

from orchestrator.job import Job
from orchestrator.loop.reading import Reading
from orchestrator.survey.survey import Survey


class Supposed(Reading):
    """A reading by a survey that was made without the host."""

    def __init__(self, job: Job, survey: Survey, role: str = "") -> None:
        super().__init__(job, role)
        self._survey = survey

    def survey(self) -> Survey:
        return self._survey
