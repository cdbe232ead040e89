"""Steps done on hosts that do not exist."""

from __future__ import annotations

from contextlib import ExitStack

from orchestrator.job import Job
from orchestrator.launch.failure import Failure
from orchestrator.plan.plan import Plan, make_plan
from orchestrator.steps.step import Onward, Step, Work
from orchestrator.survey.survey import Survey
from tests.jobs import job
from tests.surveys import survey


def plan(found: Survey | None = None, asked: Job | None = None) -> Plan:
    asked = asked or job()
    return make_plan("gpu7", asked.playbook, found or survey(), asked.wishes)


def do(step: Step, asked: Job | None = None) -> tuple[Failure | Onward | None, int]:
    """What came of it, and how often it made sure of the lock."""
    required = []
    with ExitStack() as until_end:
        came = step.do(Work(asked or job(), lambda: required.append(1), until_end))
    return came, len(required)
