"""What does each verb that changes a host come to: which steps are asked for, and what is told of their end?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from orchestrator.job import Job
from orchestrator.launch.failure import Failure
from orchestrator.loop.acting import Acting
from orchestrator.loop.consents import permit
from orchestrator.loop.healthy import tell_healthy
from orchestrator.loop.leftovers import names_what_lives
from orchestrator.loop.lock import Lock
from orchestrator.loop.reading import Reading
from orchestrator.loop.repair import Repair
from orchestrator.plan.change import Change
from orchestrator.plan.wishes import Goal
from orchestrator.report.plan_text import summary
from orchestrator.steps.confirm import Confirm
from orchestrator.steps.course import Course, course
from orchestrator.steps.patch import PatchStep
from orchestrator.steps.step import Onward


class Deployment:
    """One playbook on one host, as the verbs act on it."""

    def __init__(self, job: Job) -> None:
        self.reading = Reading(job)

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
        planned = self.reading.course(goal)
        begin: Onward | None = None
        if planned.refusals:
            raise planned.refusals[0]
        if planned.only_asks and isinstance(planned.steps[0], Confirm):
            if Acting(self.reading, _no_lock).do(planned.steps) == "done":
                self._tell(planned)
                return
            begin = "follow"
            planned = course(self.reading.job, planned.plan, goal, begin)
        job = self.reading.job
        permit(self.reading, planned)
        if goal == "up":
            self._show_plan(planned)
        with self._lock(doing) as lock:
            if begin is not None or not self._stands(planned, job, lock):
                planned = self.reading.course(goal, begin)
            end = Repair(Acting(self.reading, lock.require), lock).until_healthy(planned)
        self._tell(end)

    @names_what_lives
    def patch_only(self) -> tuple[Change, ...]:
        """Apply what the last failure, a prediction or --patch asks for; starts and cleans nothing."""
        reading = self.reading
        planned = reading.course("patch")
        reading.require_readable(planned.plan.survey)
        job = reading.job
        permit(reading, planned)
        if not planned.plan.changes:
            reading.require_config(planned.plan.survey)
        with self._lock("patching") as lock:
            if not self._stands(planned, job, lock):
                planned = reading.course("patch")
                permit(reading, planned)
            *looking, _ = planned.steps
            plan, cause = planned.plan, ""
            changes = {change.patch.id: change for change in plan.changes}
            acting = Acting(reading, lock.require)
            failure = acting.do(looking)
            if isinstance(failure, Failure):
                repair = Repair(acting, lock)
                decision = repair.decide(plan, failure, "patch")
                cause = failure.cause
                if decision.change is not None and decision.change.sets_something:
                    repair.have_consents(decision.change)
                    changes.setdefault(decision.change.patch.id, decision.change)
                elif not changes and not decision.pending:
                    raise repair.no_remedy(failure, decision)
            acting.do([PatchStep(plan, tuple(changes.values()), cause)])
        return tuple(changes.values())

    def stop(self) -> None:
        """End the launch with everything that belongs to it."""
        ending = self.reading.ending()
        with self._lock("stopping") as lock:
            Acting(self.reading, lock.require).do([ending])

    def revert(self, patch_id: str | None, *, forget: bool = False) -> tuple[str, ...]:
        """Put back the original bytes, newest patch first; gives the patches taken back.

        `forget` leaves the files as they are and takes the patches out of force all the same.
        """
        with self._lock("reverting") as lock:
            steps = self.reading.taking_back(patch_id, forget=forget)
            Acting(self.reading, lock.require).do(steps)
        return tuple(step.applied.patch for step in steps)

    @contextmanager
    def _lock(self, doing: str) -> Iterator[Lock]:
        self.reading.look()
        with ExitStack() as held:
            with self.reading.job.report.wait("lock", "for the word that nobody else deploys this here"):
                lock = held.enter_context(Lock(self.reading.job, doing))
            yield lock

    def _stands(self, planned: Course, job: Job, lock: Lock) -> bool:
        """Whether what was planned before the lock was taken is still what is to be done: nobody deployed in between, and
        no person took their time over a consent, which also changes what is planned (`job`: as it was then)."""
        return self.reading.job is job and lock.free_since(planned.plan.survey.observed.turn)

    def _show_plan(self, planned: Course) -> None:
        report = self.reading.job.report
        text = "\n".join(summary(planned.plan, waiting=planned.waiting))
        report.emit("plan", text, **planned.as_json())
        for warning in planned.plan.warnings:
            report.emit("warning", warning)

    def _tell(self, end: Course) -> None:
        """The closing lines. A launch that was found in place and stays may differ from what is asked for now."""
        job, first = self.reading.job, end.steps[0]
        if isinstance(first, Confirm):
            for difference in first.differences:
                job.report.emit(
                    "warning",
                    f"the running launch differs: {difference}; {job.command('restart')} applies it",
                )
        tell_healthy(job, running=end.plan.survey.observed.endpoint if end.only_asks else None)


def _no_lock() -> None:
    """What is only asked needs no lock."""
