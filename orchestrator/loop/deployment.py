"""What does each verb that changes a host come to: which steps are asked for, and what is told of their end?"""

from __future__ import annotations

from orchestrator.download.verdict import Checked, judge
from orchestrator.launch.failure import Failure
from orchestrator.loop.healthy import tell_healthy
from orchestrator.loop.leftovers import names_what_lives
from orchestrator.loop.repair import Repairing
from orchestrator.plan.change import Change
from orchestrator.plan.plan import Goal
from orchestrator.report.plan_text import summary
from orchestrator.steps.confirm import Confirm
from orchestrator.steps.course import Course, course
from orchestrator.steps.patch import PatchStep
from orchestrator.steps.step import Onward


class Deployment(Repairing):
    """One playbook on one host, as the verbs act on it."""

    @names_what_lives
    def up(self) -> None:
        """Bring the playbook up until a completion comes out; raises what keeps it from that."""
        self._bring_up("up", "bringing it up")

    @names_what_lives
    def remediate(self) -> None:
        """Diagnose the last launch, patch, clean, relaunch; never downloads."""
        self._bring_up("remediate", "remedying")

    @names_what_lives
    def restart(self) -> None:
        """Stop what runs, then launch again; nothing is stopped that could not be started."""
        self._bring_up("restart", "restarting")

    def _bring_up(self, goal: Goal, doing: str) -> None:
        planned = self.course(goal)
        begin: Onward | None = None
        if planned.refusals:
            raise planned.refusals[0]
        if planned.only_asks and isinstance(planned.steps[0], Confirm):
            if self._do(planned.steps, _no_lock) == "done":
                self._tell(planned)
                return
            begin = "follow"
            planned = course(self.job, planned.plan, goal, begin)
        asked = self.job
        self._permit(planned)
        if goal == "up":
            self._show_plan(planned)
        with self._lock(doing) as lock:
            if begin is not None or not self._stands(planned, asked, lock):
                planned = self.course(goal, begin)
            ended = self._until_healthy(planned, lock)
        self._tell(ended)

    @names_what_lives
    def patch_only(self) -> tuple[Change, ...]:
        """Apply what the last failure, a prediction or --patch asks for; starts and cleans nothing."""
        planned = self.course("patch")
        self._require_readable(planned.plan.survey)
        asked = self.job
        self._permit(planned)
        if not planned.plan.changes:
            self._require_config(planned.plan.survey)
        with self._lock("patching") as lock:
            if not self._stands(planned, asked, lock):
                planned = self.course("patch")
                self._permit(planned)
            *looking, _ = planned.steps
            plan, cause = planned.plan, ""
            changes = {change.patch.id: change for change in plan.changes}
            failure = self._do(looking, lock.require)
            if isinstance(failure, Failure):
                decision = self._decide(plan, failure, "patch", lock)
                cause = failure.cause
                if decision.change is not None and decision.change.sets_something:
                    self._consents(self._not_given(decision.change))
                    changes.setdefault(decision.change.patch.id, decision.change)
                elif not changes and not decision.pending:
                    raise self._no_remedy(failure, decision)
            self._do([PatchStep(plan, tuple(changes.values()), cause)], lock.require)
        return tuple(changes.values())

    def stop(self) -> None:
        """End the launch with everything that belongs to it."""
        ending = self.ending()
        with self._lock("stopping") as lock:
            self._do([ending], lock.require)

    def revert(self, patch_id: str | None, *, forget: bool = False) -> tuple[str, ...]:
        """Put back the original bytes, newest patch first; gives the patches taken back.

        `forget` leaves the files as they are and takes the patches out of force all the same.
        """
        with self._lock("reverting") as lock:
            steps = self.taking_back(patch_id, forget=forget)
            self._do(steps, lock.require)
        return tuple(step.applied.patch for step in steps)

    def verify(self, *, deep: bool) -> Checked:
        """Judge the checkpoint's files without network."""
        return judge(self.job, self._survey(), deep=deep)

    def _show_plan(self, planned: Course) -> None:
        self.job.report.emit("plan", "\n".join(summary(planned.plan)), **planned.as_json())
        for warning in planned.plan.warnings:
            self.job.report.emit("warning", warning)

    def _tell(self, ended: Course) -> None:
        """The closing lines. A launch that was found in place and stays may differ from what is asked for now."""
        first = ended.steps[0]
        if isinstance(first, Confirm):
            for difference in first.differences:
                self.job.report.emit(
                    "warning",
                    f"the running launch differs: {difference}; {self.job.command('restart')} applies it",
                )
        running = ended.plan.survey.observed.endpoint if ended.only_asks else None
        tell_healthy(self.job, running=running)


def _no_lock() -> None:
    """What is only asked needs no lock."""
