"""What does each verb that changes hosts come to: which steps are asked for, and what is told of their end?"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from orchestrator.base.errors import HostError, UsageError
from orchestrator.checks.between.group_check import GroupCheck
from orchestrator.group.group import Group
from orchestrator.job import Job
from orchestrator.loop import between, otherwise
from orchestrator.loop.acting import Acting
from orchestrator.loop.agreeing import agree
from orchestrator.loop.consents import Consents, objection
from orchestrator.loop.copies import arranged
from orchestrator.loop.crowded import waited_for
from orchestrator.loop.healthy import tell_healthy
from orchestrator.loop.leftovers import names_what_lives
from orchestrator.loop.locks import Locks
from orchestrator.loop.reading import Reading
from orchestrator.loop.repair import Repair
from orchestrator.loop.together import Fall, Together
from orchestrator.loop.vanished import end_the_rest
from orchestrator.plan.change import Change
from orchestrator.plan.wishes import Goal
from orchestrator.report.group_plan_text import summary as group_summary
from orchestrator.report.plan_text import summary
from orchestrator.steps.clean import Clean
from orchestrator.steps.confirm import Confirm
from orchestrator.steps.course import Course
from orchestrator.steps.diagnose import Diagnose
from orchestrator.steps.revert import Revert
from orchestrator.steps.step import Onward
from orchestrator.survey.membership import part as part_of_group

AS_A_PART = "; --part does it all the same"


class Deployment:
    """One playbook on one host, or a group of them, as the verbs act on it."""

    def __init__(self, group: Group) -> None:
        several = len(group.hosts) > 1 or bool(group.absent)
        self.readings = tuple(Reading(host.job, host.role if several else "") for host in group.hosts)
        self.absent = group.absent
        self._consents = Consents()
        self._agreed = False

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
        self.require_whole()
        self._require_none_serves(planned, goal)
        for reading, own in zip(self.readings, planned, strict=True):
            if own.refusals:
                with reading.named():
                    raise own.refusals[0]
        planned = self._as_one(planned, goal)
        self._require_alike(planned)
        if all(own.only_asks and isinstance(own.steps[0], Confirm) for own in planned):
            ends = self._together(_no_lock).do(planned)
            assert not isinstance(ends, Fall)  # asking once fails no launch
            if all(end == "done" for end in ends):
                self._tell(planned)
                return
            begins = [None if end == "done" else "follow" for end in ends]
            planned = [
                own if begin is None else reading.listed(own.plan, goal, begin)
                for reading, own, begin in zip(self.readings, planned, begins, strict=True)
            ]
        jobs = self._jobs
        self._permit(planned)
        if goal == "up":
            self._show(planned)
        with self._lock(doing) as locks:
            if any(begins) or not self._stands(planned, jobs, locks):
                planned = self._courses(goal, begins)
                self._require_none_serves(planned, goal)
                planned = self._as_one(planned, goal)
            try:
                end = Repair(self._together(locks.require), locks).until_healthy(planned)
            except HostError as lost:
                raise end_the_rest(
                    self.readings,
                    lost,
                    lambda reading: Acting(reading, self._consents, locks.of(reading).require),
                ) from lost
        self._tell(end)

    def _as_one(self, planned: list[Course], goal: Goal) -> list[Course]:
        """The lists as hosts carry them out that have to do with each other."""
        return arranged(self.readings, self._none_left_behind(planned, goal))

    def _none_left_behind(self, planned: list[Course], goal: Goal) -> list[Course]:
        """The lists once all start anew where one of them does: ranks that live never meet others that were started later."""
        spread = any(reading.job.playbook.node for reading in self.readings)
        if not spread or not any(own.starts and not _diagnosed(own) for own in planned):
            return planned
        # where some were stopped, the ends of others follow from it, whatever their logs say
        stopped = any(
            own.plan.survey.outcome and own.plan.survey.outcome.result == "stopped" for own in planned
        )
        return [
            own
            if own.starts and not (stopped and _diagnosed(own))
            else reading.listed(own.plan, goal, "fetch")
            for reading, own in zip(self.readings, planned, strict=True)
        ]

    def planned(self, goal: Goal = "up") -> list[Course]:
        """What a verb would do on each host; reads only."""
        planned = self._courses(goal)
        self._require_none_serves(planned, goal)
        return self._as_one(planned, goal)

    def between(self, planned: Sequence[Course]) -> tuple[GroupCheck, ...]:
        """What stands between hosts that would be launched together; nothing where they serve alone, or serve already."""
        if not any(own.starts for own in planned):
            return ()
        return between.between(self.readings, [own.plan for own in planned])

    def _require_none_serves(self, planned: Sequence[Course], goal: Goal) -> None:
        """Raise where bringing all of them up would end what serves on one with other hosts than these, or alone."""
        if goal == "up" and (serving := otherwise.serves(self.readings, planned)):
            with serving.named():
                raise otherwise.refusal(serving, len(self.readings))

    def _require_alike(self, planned: Sequence[Course]) -> None:
        """Raise what keeps the hosts from serving together, and tell what may spoil it, before anything is done on one."""
        checks = self.between(planned)
        refused = between.refusal(checks)
        report = self.readings[0].job.report
        for check in checks:
            if check.verdict == "warn":
                report.emit(
                    "warning", f"{check.subject}: {check.sentence}{f' ({check.mend})' if check.mend else ''}"
                )
        if refused:
            raise refused

    @names_what_lives
    def patch_only(self) -> tuple[Change, ...]:
        """Apply what the last failure, a prediction or --patch asks for; starts and cleans nothing."""
        planned = self._courses("patch")
        self.require_whole()
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
            looked = repair.packed(looked, plans)
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

    def stop(self, *, part: bool = False, anew: bool = False) -> None:
        """End the launch with everything that belongs to it. `part`: also where hosts that are not named serve with these;
        `anew`: it is started again at once."""
        endings = dict(zip(self.readings, self.endings(part=part, anew=anew), strict=True))
        with self._lock("stopping") as locks:
            self._together(locks.require).each(lambda acting: acting.do([endings[acting.reading]]))

    def endings(self, *, part: bool = False, anew: bool = False) -> list[Clean]:
        """What `stop` would end on each host; reads only."""
        endings = self._together(_no_lock).each(lambda acting: acting.reading.ending(anew=anew))
        if not part:
            self.require_whole(AS_A_PART)
        return endings

    def revert(self, patch_id: str | None, *, forget: bool = False, part: bool = False) -> tuple[str, ...]:
        """Put back the original bytes, newest patch first; gives the patches taken back.

        `forget` leaves the files as they are and takes the patches out of force all the same; `part` as for `stop`. Raises
        UsageError("patch_not_in_force") for a patch that is in force on no host.
        """
        planned: list[tuple[Acting, Sequence[Revert]]] = []
        with self._lock("reverting") as locks:
            absent: list[UsageError] = []
            for acting in self._together(locks.require).hosts:
                try:
                    planned.append((acting, acting.reading.taking_back(patch_id, forget=forget)))
                except UsageError as error:
                    absent.append(error)
            if not part:
                self.require_whole(AS_A_PART)
            if not planned:
                raise absent[0]
            for acting, steps in planned:
                with acting.reading.named():
                    acting.do(steps)
        return tuple(dict.fromkeys(step.applied.patch for _, steps in planned for step in steps))

    def require_whole(self, otherwise: str = "") -> None:
        """Raise UsageError("part_of_group") where a launch on these hosts serves with others that are not among them: a rank
        that is ended or started alone leaves the others waiting. `otherwise`: how it is done all the same."""
        named = {reading.job.host.name for reading in self.readings}
        own = part_of_group((reading.membership for reading in self.readings), named)
        if own is None:
            return
        others = ", ".join(host for host in own.hosts if host not in named) or "others"
        where = f"{self.readings[0].job.name} on {', '.join(sorted(named))}"
        words = f"{where} serves one model with {others}: none of them goes on alone{otherwise}"
        raise UsageError("part_of_group", words, group=shlex.join(own.hosts))

    @property
    def _jobs(self) -> list[Job]:
        return [reading.job for reading in self.readings]

    def _together(self, require: Callable[[], None]) -> Together:
        return Together([Acting(reading, self._consents, require) for reading in self.readings])

    def _courses(self, goal: Goal, begins: Sequence[Onward | None] = ()) -> list[Course]:
        """What a verb would do on each host."""
        if not self._agreed:
            agree(self.readings)
            self._agreed = True
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
        first = self.readings[0].job
        if first.group:
            plans = [own.as_json() for own in planned]
            first.report.of_all.emit("plan", "\n".join(group_summary(planned)), hosts=plans)
            for warning in dict.fromkeys(warning for own in planned for warning in own.plan.warnings):
                on = [own.plan.host for own in planned if warning in own.plan.warnings]
                where = "" if len(on) == len(planned) else f"{', '.join(on)}: "
                first.report.of_all.emit("warning", f"{where}{warning}")
            return
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
                job.report.of_all if job.group else job.report,
                served=reading.context,
                asked=end.plan.options.asked_context.value,
                running=end.plan.survey.observed.endpoint if end.only_asks else None,
            )


def _diagnosed(course: Course) -> bool:
    """Whether it begins with the cause of an end that nobody has seen: what follows hangs on that."""
    return isinstance(course.steps[0], Diagnose)


def _no_lock() -> None:
    """What is only asked needs no lock."""
