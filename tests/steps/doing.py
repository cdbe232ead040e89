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


def plan(surveyed: Survey | None = None, mine: Job | None = None) -> Plan:
    mine = mine or job()
    return make_plan("gpu7", mine.playbook, surveyed or survey(), mine.wishes)


def do(step: Step, mine: Job | None = None) -> tuple[Failure | Onward | None, int]:
    """What came of it, and how often it made sure of the lock."""
    required = []
    with ExitStack() as until_end:
        came = step.do(Work(mine or job(), lambda: required.append(1), until_end))
    return came, len(required)
