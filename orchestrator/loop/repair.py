"""What is done when a launch has failed?"""

from __future__ import annotations

from orchestrator.base.errors import DeployError
from orchestrator.launch.failure import Failure, GpuBusy, no_remedy
from orchestrator.loop.acting import Acting
from orchestrator.loop.lock import Lock
from orchestrator.plan.change import Change
from orchestrator.plan.plan import Goal, Plan
from orchestrator.remedy.choose import Decision, choose
from orchestrator.report.panel import finding, panel_text
from orchestrator.steps.clean import Clean
from orchestrator.steps.clean_up import CleanUp
from orchestrator.steps.course import Course, unanswered
from orchestrator.steps.discard import DiscardStep
from orchestrator.steps.patch import PatchStep
from orchestrator.steps.refusals import spent
from orchestrator.steps.revert import Revert
from orchestrator.steps.step import Step


class Repairing(Acting):
    """A playbook on a host whose failed launches are repaired."""

    def _until_healthy(self, course: Course, lock: Lock) -> Course:
        """Carry a list out, and repair what fails, until a completion comes out; gives the list that ended so."""
        old = course.plan.survey.observed.launch
        # nothing may be left to do about an old failure, and a person may have done it
        anyway = course.goal == "up" and unanswered(self.job, course.plan)
        ended = self._carry_out(course, lock)
        while isinstance(ended, Failure):
            lock.doing(f"repairing launch {ended.launch}")
            self._repair(ended, course.goal, lock, launch_anyway=anyway and ended.launch == old)
            anyway = False
            ended = self._carry_out(self.course(course.goal, "launch"), lock)
        return ended

    def _repair(self, failure: Failure, goal: Goal, lock: Lock, *, launch_anyway: bool) -> None:
        """What the remedy asks for before the next launch; raises where there is none."""
        plan = self._plan(self._survey(), goal)
        decision = self._decide(plan, failure, goal, lock)
        change = decision.change
        if change is None and not decision.pending and not launch_anyway:
            raise self._no_remedy(failure, decision)
        if error := spent(self.job, plan.survey.history):
            raise error
        if change is None:
            return
        self._consents(self._not_given(change))
        try:
            self._do(_before(plan, change, failure.launch), lock.require)
        except GpuBusy as busy:
            self._tell_finding(failure, Decision(None, busy.short.advice), host=busy.short.sentence)
            raise
        if change.redownloads:
            self._carry_out(self.course("fetch"), lock)
        self._do([PatchStep(plan, (change,), failure.cause)], lock.require)

    def _decide(self, plan: Plan, failure: Failure, goal: Goal, lock: Lock) -> Decision:
        with self._located(plan.survey):
            decision = choose(
                failure.diagnosis,
                plan,
                plan.survey,
                self.job.wishes,
                launch=failure.launch,
                downloads=self.job.command("up") if goal in ("remediate", "patch") else None,
                from_outside=failure.from_outside,
            )
        self._tell_finding(failure, decision, host=failure.known)
        if decision.revert is not None:
            self._do([Revert(decision.revert, by_person=False)], lock.require)
        return decision

    def _not_given(self, change: Change) -> dict[str, str]:
        """The consents that a remedy asks for by itself and nobody gave."""
        return {consent: change.patch.id for consent in change.consents if consent not in self.job.consents}

    def _tell_finding(self, failure: Failure, decision: Decision, *, host: str) -> None:
        """The panel of a failure; `host` is what the host knows beside the log."""
        words = finding(
            failure.diagnosis,
            decision,
            launch=failure.launch,
            log_name=self.job.playbook.kind.log_name,
            known=len(self.job.wishes.patches),
            bundle=failure.bundle,
            host=host,
        )
        diff = decision.change.diff if decision.change else None
        self.job.report.emit(
            "finding",
            panel_text(words, diff or ""),
            step=f"launch {failure.launch}",
            diagnosis=failure.diagnosis.model_dump(mode="json"),
            patch=decision.change.patch.id if decision.change else None,
            diff=diff,
            panel=words,
        )

    def _no_remedy(self, failure: Failure, decision: Decision) -> DeployError:
        reason = decision.reason or "What a person can do is told with the finding"
        return no_remedy(failure, reason, host=self.job.host.name)


def _before(plan: Plan, change: Change, launch: int) -> list[Step]:
    """What a remedy does once, before what it sets."""
    steps: list[Step] = [Clean(plan.survey.observed)]
    if change.cleanups:
        steps.append(CleanUp(plan, change, launch))
    if change.redownloads:
        steps.append(DiscardStep(plan, change))
    return steps
