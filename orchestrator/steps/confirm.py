"""Does a completion come out of a launch that serves? /health alone is not believed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchestrator.base.amounts import fewest
from orchestrator.launch.server import SMOKE_SECONDS, Server, tokens
from orchestrator.plan.differences import differing
from orchestrator.plan.plan import Plan
from orchestrator.programs.journal import OutcomeRecord
from orchestrator.steps.smoke import asking
from orchestrator.steps.step import Effects, Onward, Step, Work


@dataclass(frozen=True)
class Confirm(Step):
    """Ask it once; where nothing comes out it is followed as a launch that does not answer."""

    name = "smoke"
    plan: Plan

    @property
    def differences(self) -> tuple[str, ...]:
        """In what it differs from what would be started now."""
        return differing(self.plan, self.plan.survey.observed.command)

    @property
    def standing(self) -> dict[str, Any]:
        """Which launch serves, and in what it differs from what is asked."""
        return {"launch": self.plan.survey.observed.launch, "differs": list(self.differences)}

    @property
    def effects(self) -> Effects:
        does = "serves" if self.plan.playbook.serves else "computes for the head"
        stays = f"nothing else: launch {self.plan.survey.observed.launch} {does} and stays as it is"
        differs = (f"it differs from what is asked: {difference}" for difference in self.differences)
        asks = [asking(self.plan)] if self.plan.playbook.serves else []
        return Effects((*asks, stays, *differs))

    def do(self, work: Work) -> Onward:
        survey, job = self.plan.survey, work.job
        if not self.plan.playbook.serves:
            return "done"  # the head is asked
        with job.report.step("smoke", "one real completion", limit=SMOKE_SECONDS) as step:
            answer = Server(job).complete(survey.observed.endpoint)
            step.done = tokens(answer) if answer.ok else str(answer.error)
            step.state = "ok" if answer.ok else "failed"
        if not answer.ok:
            return "follow"
        work.context = fewest(answer.context, survey.outcome.context if survey.outcome else None)
        if survey.outcome is None or survey.outcome.result != "healthy":
            assert survey.observed.launch is not None  # it serves
            job.record(OutcomeRecord.healthy(survey.observed.launch, answer.context))
        return "done"
