"""What is done when a launch has failed?"""

from __future__ import annotations

from orchestrator.base.errors import DeployError
from orchestrator.launch.failure import Failure, GpuBusy, no_remedy
from orchestrator.loop.acting import Acting
from orchestrator.loop.consents import have
from orchestrator.loop.lock import Lock
from orchestrator.plan.change import Change
from orchestrator.plan.plan import Plan
from orchestrator.plan.wishes import Goal
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


class Repair:
    """Failed launches of a playbook on a host, repaired."""

    def __init__(self, acting: Acting, lock: Lock) -> None:
        self._acting = acting
        self._reading = acting.reading
        self._lock = lock

    def until_healthy(self, course: Course) -> Course:
        """Carry a list out, and repair what fails, until a completion comes out; gives the list that ended so."""
        old = course.plan.survey.observed.launch
        # nothing may be left to do about an old failure, and a person may have done it
        anyway = course.goal == "up" and unanswered(self._reading.job, course.plan)
        end = self._acting.carry_out(course)
        while isinstance(end, Failure):
            self._lock.doing(f"repairing launch {end.launch}")
            self.repair(end, course.goal, launch_anyway=anyway and end.launch == old)
            anyway = False
            end = self._acting.carry_out(self._reading.course(course.goal, "launch"))
        return end

    def repair(self, failure: Failure, goal: Goal, *, launch_anyway: bool) -> None:
        """What the remedy asks for before the next launch; raises where there is none."""
        plan = self._reading.plan(goal)
        decision = self.decide(plan, failure, goal)
        change = decision.change
        if change is None and not decision.pending and not launch_anyway:
            raise self.no_remedy(failure, decision)
        if error := spent(self._reading.job, plan.survey.history):
            raise error
        if change is None:
            return
        self.have_consents(change)
        try:
            self._acting.do(_before(plan, change, failure.launch))
        except GpuBusy as busy:
            self._tell_finding(failure, Decision(None, busy.short.advice), host=busy.short.sentence)
            raise
        if change.redownloads:
            self._acting.carry_out(self._reading.course("fetch"))
        self._acting.do([PatchStep(plan, (change,), failure.cause)])

    def decide(self, plan: Plan, failure: Failure, goal: Goal) -> Decision:
        """What answers a failure, told; a patch that did not help is taken back."""
        job = self._reading.job
        with self._reading.located(plan.survey):
            decision = choose(
                failure.diagnosis,
                plan,
                plan.survey,
                job.wishes,
                launch=failure.launch,
                downloads=job.command("up") if goal in ("remediate", "patch") else None,
                from_outside=failure.from_outside,
            )
        self._tell_finding(failure, decision, host=failure.known)
        if decision.revert is not None:
            self._acting.do([Revert(decision.revert, by_person=False)])
        return decision

    def have_consents(self, change: Change) -> None:
        """Have the consents that a remedy asks for by itself and nobody gave."""
        given = self._reading.job.consents
        have(
            self._reading,
            {consent: change.patch.id for consent in change.consents if consent not in given},
        )

    def no_remedy(self, failure: Failure, decision: Decision) -> DeployError:
        """The error of a failure about which nothing is left to be done."""
        reason = decision.reason or "What a person can do is told with the finding"
        return no_remedy(failure, reason, host=self._reading.job.host.name)

    def _tell_finding(self, failure: Failure, decision: Decision, *, host: str) -> None:
        """The panel of a failure; `host` is what the host knows beside the log."""
        job = self._reading.job
        words = finding(
            failure.diagnosis,
            decision,
            launch=failure.launch,
            log_name=job.playbook.kind.log_name,
            known=len(job.wishes.patches),
            bundle=failure.bundle,
            host=host,
        )
        diff = decision.change.diff if decision.change else None
        job.report.emit(
            "finding",
            panel_text(words, diff or ""),
            step=f"launch {failure.launch}",
            diagnosis=failure.diagnosis.model_dump(mode="json"),
            patch=decision.change.patch.id if decision.change else None,
            diff=diff,
            panel=words,
        )


def _before(plan: Plan, change: Change, launch: int) -> list[Step]:
    """What a remedy does once, before what it sets."""
    steps: list[Step] = [Clean(plan.survey.observed)]
    if change.cleanups:
        steps.append(CleanUp(plan, change, launch))
    if change.redownloads:
        steps.append(DiscardStep(plan, change))
    return steps
