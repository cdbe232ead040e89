"""What does each verb that changes hosts come to: which steps are asked for, and what is told of their end?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from orchestrator.base.errors import UsageError
from orchestrator.group.group import Group
from orchestrator.job import Job
from orchestrator.loop.acting import Acting
from orchestrator.loop.consents import Consents, objection
from orchestrator.loop.crowded import waited_for
from orchestrator.loop.healthy import tell_healthy
from orchestrator.loop.leftovers import names_what_lives
from orchestrator.loop.locks import Locks
from orchestrator.loop.reading import Reading
from orchestrator.loop.repair import Repair
from orchestrator.loop.together import Fall, Together
from orchestrator.plan.change import Change
from orchestrator.plan.wishes import Goal
from orchestrator.report.plan_text import summary
from orchestrator.steps.confirm import Confirm
from orchestrator.steps.course import Course, course
from orchestrator.steps.diagnose import Diagnose
from orchestrator.steps.revert import Revert
from orchestrator.steps.step import Onward


class Deployment:
    """One playbook on one host, or a group of them, as the verbs act on it."""

    def __init__(self, group: Group) -> None:
        several = len(group.hosts) > 1
        self.readings = tuple(Reading(host.job, host.role if several else "") for host in group.hosts)
        self._consents = Consents()

    @property
    def reading(self) -> Reading:
        """That of the host which serves alone; those of a group are asked one by one."""
        (reading,) = self.readings
        return reading

    @property
    def alone(self) -> tuple[Deployment, ...]:
        """Each host's part by itself, for what is only asked."""
        return tuple(Deployment(Group.of(reading.job)) for reading in self.readings)

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
        begins: list[Onward | None] = [None] * len(self.readings)
        planned = waited_for(self.readings, self._courses(goal, begins), lambda: self._courses(goal, begins))
        for reading, own in zip(self.readings, planned, strict=True):
            if own.refusals:
                with reading.named():
                    raise own.refusals[0]
        planned = self._none_left_behind(planned, goal)
        if all(own.only_asks and isinstance(own.steps[0], Confirm) for own in planned):
            ends = self._together(_no_lock).do(planned)
            assert not isinstance(ends, Fall)  # asking once fails no launch
            if all(end == "done" for end in ends):
                self._tell(planned)
                return
            begins = [None if end == "done" else "follow" for end in ends]
            planned = [
                own if begin is None else course(reading.job, own.plan, goal, begin)
                for reading, own, begin in zip(self.readings, planned, begins, strict=True)
            ]
        jobs = self._jobs
        self._permit(planned)
        if goal == "up":
            self._show(planned)
        with self._lock(doing) as locks:
            if any(begins) or not self._stands(planned, jobs, locks):
                planned = self._courses(goal, begins)
            end = Repair(self._together(locks.require), locks).until_healthy(planned)
        self._tell(end)

    def _none_left_behind(self, planned: list[Course], goal: Goal) -> list[Course]:
        """The lists once all start anew where one of them does: ranks that live never meet others that were started later."""
        spread = any(reading.job.playbook.node for reading in self.readings)
        if not spread or not any(own.starts and not _diagnosed(own) for own in planned):
            return planned
        return [
            own if own.starts else course(reading.job, own.plan, goal, "fetch")
            for reading, own in zip(self.readings, planned, strict=True)
        ]

    @names_what_lives
    def patch_only(self) -> tuple[Change, ...]:
        """Apply what the last failure, a prediction or --patch asks for; starts and cleans nothing."""
        planned = self._courses("patch")
        for reading, own in zip(self.readings, planned, strict=True):
            with reading.named():
                reading.require_readable(own.plan.survey)
        jobs = self._jobs
        self._permit(planned)
        for reading, own in zip(self.readings, planned, strict=True):
            if not own.plan.changes:
                with reading.named():
                    reading.require_config(own.plan.survey)
        with self._lock("patching") as locks:
            if not self._stands(planned, jobs, locks):
                planned = self._courses("patch")
                self._permit(planned)
            return self._patch(planned, locks)

    def _patch(self, planned: Sequence[Course], locks: Locks) -> tuple[Change, ...]:
        for reading, intended in zip(self.readings, (each.plan for each in planned), strict=True):
            for remark in intended.by_name:
                reading.job.report.emit("warning", remark)
        together = self._together(locks.require)
        plans = [own.plan for own in planned]
        changes = [{change.patch.id: change for change in plan.changes} for plan in plans]
        looked = together.do([replace(own, steps=own.steps[:-1]) for own in planned])
        cause = ""
        if isinstance(looked, Fall):
            repair = Repair(together, locks)
            treatment = repair.decide(looked, plans, "patch")
            cause = looked.failure.cause
            if treatment.decision.change is not None and treatment.decision.change.sets_something:
                repair.have_consents(treatment)
                for own, change in zip(changes, treatment.changes, strict=True):
                    if change is not None:
                        own.setdefault(change.patch.id, change)
            elif not any(changes) and not treatment.decision.pending:
                with looked.acting.reading.named():
                    raise repair.no_remedy(looked, treatment.decision)
        together.patch(plans, [tuple(own.values()) for own in changes], cause)
        return tuple(change for own in changes for change in own.values())

    def stop(self) -> None:
        """End the launch with everything that belongs to it."""
        endings = {id(reading): reading.ending() for reading in self.readings}
        with self._lock("stopping") as locks:
            self._together(locks.require).each(lambda acting: acting.do([endings[id(acting.reading)]]))

    def revert(self, patch_id: str | None, *, forget: bool = False) -> tuple[str, ...]:
        """Put back the original bytes, newest patch first; gives the patches taken back.

        `forget` leaves the files as they are and takes the patches out of force all the same. Raises
        UsageError("patch_not_in_force") for a patch that is in force on no host.
        """
        taken_back: list[Revert] = []
        with self._lock("reverting") as locks:
            absent: list[UsageError] = []
            for acting in self._together(locks.require).hosts:
                try:
                    steps = acting.reading.taking_back(patch_id, forget=forget)
                except UsageError as error:
                    absent.append(error)
                    continue
                with acting.reading.named():
                    acting.do(steps)
                taken_back += steps
            if len(absent) == len(self.readings):
                raise absent[0]
        return tuple(dict.fromkeys(step.applied.patch for step in taken_back))

    @property
    def _jobs(self) -> list[Job]:
        return [reading.job for reading in self.readings]

    def _together(self, require: Callable[[], None]) -> Together:
        return Together([Acting(reading, self._consents, require) for reading in self.readings])

    def _courses(self, goal: Goal, begins: Sequence[Onward | None] = ()) -> list[Course]:
        """What a verb would do on each host."""
        begin = dict(zip(self.readings, begins, strict=False))
        return self._together(_no_lock).each(
            lambda acting: acting.reading.course(goal, begin.get(acting.reading))
        )

    def _permit(self, planned: Sequence[Course]) -> None:
        """Raise what forbids these lists, before anything is asked; then have every consent that they need."""
        for reading, own in zip(self.readings, planned, strict=True):
            with reading.named():
                if error := objection(reading.job, own):
                    raise error
        for reading, own in zip(self.readings, planned, strict=True):
            with reading.named():
                self._consents.permit(reading, own)

    @contextmanager
    def _lock(self, doing: str) -> Iterator[Locks]:
        with Locks(self.readings, doing) as locks:
            yield locks

    def _stands(self, planned: Sequence[Course], jobs: Sequence[Job], locks: Locks) -> bool:
        """Whether what was planned before the locks were taken is still what is to be done: nobody deployed in between, and
        no person took their time over a consent, which also changes what is planned (`jobs`: as they were then)."""
        same = all(now is then for now, then in zip(self._jobs, jobs, strict=True))
        return same and locks.free_since([own.plan.survey.observed.turn for own in planned])

    def _show(self, planned: Sequence[Course]) -> None:
        for reading, own in zip(self.readings, planned, strict=True):
            report = reading.job.report
            text = "\n".join(summary(own.plan, waiting=own.waiting))
            report.emit("plan", text, **own.as_json())
            for warning in own.plan.warnings:
                report.emit("warning", warning)

    def _tell(self, ends: Sequence[Course]) -> None:
        """The closing lines. A launch that was found in place and stays may differ from what is asked for now."""
        for reading, end in zip(self.readings, ends, strict=True):
            job, first = reading.job, end.steps[0]
            if isinstance(first, Confirm):
                for difference in first.differences:
                    job.report.emit(
                        "warning",
                        f"the running launch differs: {difference}; {job.command('restart')} applies it",
                    )
            if not job.playbook.serves:
                continue
            tell_healthy(
                job,
                served=reading.context,
                asked=end.plan.options.asked_context.value,
                running=end.plan.survey.observed.endpoint if end.only_asks else None,
            )


def _diagnosed(course: Course) -> bool:
    """Whether it begins with the cause of an end that nobody has seen: what follows hangs on that."""
    return isinstance(course.steps[0], Diagnose)


def _no_lock() -> None:
    """What is only asked needs no lock."""
