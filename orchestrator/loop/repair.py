"""What is done when a launch has failed?"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from orchestrator.base.errors import DeployError
from orchestrator.launch.failure import Failure, GpuBusy, no_remedy
from orchestrator.loop.acting import Acting
from orchestrator.loop.locks import Locks
from orchestrator.loop.together import Fall, Together
from orchestrator.plan.beside import gpu_shortage, shares
from orchestrator.plan.change import Change
from orchestrator.plan.gpu_room import Shortage
from orchestrator.plan.plan import Plan
from orchestrator.plan.windows import concerns
from orchestrator.plan.wishes import Goal
from orchestrator.remedy.choose import Decision, choose
from orchestrator.report.panel import finding, panel_text
from orchestrator.steps.clean import Clean
from orchestrator.steps.clean_up import CleanUp
from orchestrator.steps.course import Course, unanswered
from orchestrator.steps.discard import DiscardStep
from orchestrator.steps.refusals import spent
from orchestrator.steps.revert import Revert
from orchestrator.steps.step import Step


@dataclass(frozen=True)
class Treatment:
    """What answers a failure: the decision for the host on which it came, and the changes of every host."""

    decision: Decision
    plans: tuple[Plan, ...]
    changes: tuple[Change | None, ...]
    short: Shortage | None = None
    """What others hold of the cards, where nothing is left to be done about a failure for want of memory."""


class Repair:
    """Failed launches of a group, repaired: decided for all of its hosts, and done on each that it concerns."""

    def __init__(self, together: Together, locks: Locks) -> None:
        self._together = together
        self._locks = locks

    def until_healthy(self, courses: Sequence[Course]) -> tuple[Course, ...]:
        """Carry the lists out, and repair what fails, until completions come out; gives the lists that ended so."""
        goal = courses[0].goal
        old = [course.plan.survey.observed.launch for course in courses]
        # nothing may be left to do about an old failure, and a person may have done it
        anyway = [
            goal == "up" and unanswered(acting.reading.job, course.plan)
            for acting, course in zip(self._together.hosts, courses, strict=True)
        ]
        end = self._together.carry_out(courses)
        while isinstance(end, Fall):
            number, launch = self._together.hosts.index(end.acting), end.failure.launch
            self._locks.doing(f"repairing launch {launch}")
            self.repair(end, goal, launch_anyway=anyway[number] and launch == old[number])
            anyway = [False] * len(anyway)
            end = self._together.carry_out(self._again(goal, end.acting))
        return end

    def _again(self, goal: Goal, failed: Acting) -> list[Course]:
        """What is to be done next: a launch, and before it, on hosts that had not come as far, all that leads to it."""

        def again(acting: Acting) -> Course:
            ready = acting is failed or acting.prepared
            return acting.reading.course(goal, "launch" if ready else None)

        return self._together.each(again)

    def repair(self, fall: Fall, goal: Goal, *, launch_anyway: bool) -> None:
        """What the remedy asks for before the next launch; raises where there is none.

        Where one host of a group has failed, the launches of the others are ended, and where nothing answers its failure
        its own is too.
        """
        others = self._together.others(fall.acting)
        try:
            others.end()
        except DeployError:  # one that does not answer, say: what failed is known all the same
            nothing = Decision(None, "not before the launches of the others are ended")
            self._tell_finding(fall, nothing, host=fall.failure.known)
            raise
        try:
            with fall.acting.reading.named():
                self._remedy(fall, goal, launch_anyway=launch_anyway)
        except DeployError:
            if others.hosts:
                with suppress(DeployError):  # what led here says more
                    Together([fall.acting]).end()
            raise

    def _remedy(self, fall: Fall, goal: Goal, *, launch_anyway: bool) -> None:
        plans = self._together.each(lambda host: host.reading.plan(goal))
        fall = self.packed(fall, plans)
        acting, failure = fall.acting, fall.failure
        treatment = self.decide(fall, plans, goal)
        change = treatment.decision.change
        if change is None and not treatment.decision.pending and not launch_anyway:
            if treatment.short is not None:
                raise GpuBusy(acting.reading.job.host.name, failure.launch, treatment.short)
            raise self.no_remedy(fall, treatment.decision)
        of_each = list(zip(self._together.hosts, treatment.plans, strict=True))
        for host, plan in sorted(
            of_each, key=lambda each: each[0] is not acting
        ):  # whose cause is the group's, first
            if error := spent(host.reading.job, plan.survey.history):
                raise error
        if change is None:
            return
        self.have_consents(treatment)
        plan = treatment.plans[self._together.hosts.index(acting)]
        try:
            acting.do(_before(plan, change, failure))
        except GpuBusy as busy:
            if not shares(busy.short, acting.reading.job.consents):
                self._tell_finding(fall, Decision(None, busy.short.advice), host=busy.short.sentence)
                raise
            acting.reading.look_anew()
            acting.reading.job.report.emit("warning", busy.short.shared)
        if change.redownloads:
            acting.carry_out(acting.reading.course("fetch"))
        changes = [(own,) if own is not None else () for own in treatment.changes]
        self._together.patch(treatment.plans, changes, failure.cause)

    def packed(self, fall: Fall, plans: Sequence[Plan]) -> Fall:
        """The same with a bundle of all hosts, where it is theirs together and nobody knows its cause."""
        from orchestrator.loop.packing import with_bundle  # what packs logs is imported where one failed

        return with_bundle(fall, self._together.hosts, plans)

    def decide(self, fall: Fall, plans: Sequence[Plan], goal: Goal) -> Treatment:
        """What answers a failure, told; a patch that did not help is taken back.

        What a remedy sets is set on every host that it concerns: what is cured on one alone makes the ranks of a model
        differ, and is the next failure of a replica. What it cleans or fetches again is the failed host's.
        """
        hosts = self._together.hosts
        decisions: list[Decision | None] = [None] * len(hosts)
        number = hosts.index(fall.acting)
        decision = decisions[number] = _choose(fall.acting, plans[number], fall.failure, goal)
        short = _held_by_others(fall, decision, goal)
        if short is not None:
            decision = decisions[number] = replace(decision, advice=short.advice)
        self._tell_finding(fall, decision, host=short.sentence if short else fall.failure.known)
        for other, (host, plan) in enumerate(zip(hosts, plans, strict=True)):
            answered = host is not fall.acting and (decision.revert or _sets(decision))
            if answered and _concerns(fall, plans[number], plan):
                failure = replace(fall.failure, launch=plan.survey.history.launch or 0)
                decisions[other] = _choose(host, plan, failure, goal)
        for host, own in zip(hosts, decisions, strict=True):
            if own is not None and own.revert is not None:
                host.do([Revert(own.revert, by_person=False)])
        changes = tuple(
            own.change if own is not None and (own is decision or _sets(own)) else None for own in decisions
        )
        return Treatment(decision, tuple(plans), changes, short)

    def have_consents(self, treatment: Treatment) -> None:
        """Have the consents that a remedy asks for by itself and nobody gave."""
        for acting, change in zip(self._together.hosts, treatment.changes, strict=True):
            if change is not None:
                given = acting.reading.job.consents
                lacking = [consent for consent in change.consents if consent not in given]
                acting.consents.have(acting.reading, dict.fromkeys(lacking, change.patch.id))

    def no_remedy(self, fall: Fall, decision: Decision) -> DeployError:
        """The error of a failure about which nothing is left to be done."""
        reason = decision.reason or "What a person can do is told with the finding"
        host, several = fall.acting.reading.job.host.name, len(self._together.hosts) > 1
        apart = [acting.reading.job.host.name for acting in self._together.hosts] if fall.apart else []
        return no_remedy(fall.failure, reason, host=host, ended=several, apart=apart)

    def _tell_finding(self, fall: Fall, decision: Decision, *, host: str) -> None:
        """The panel of a failure; `host` is what the host knows beside the log."""
        job, failure = fall.acting.reading.job, fall.failure
        words = finding(
            failure.diagnosis,
            decision,
            launch=failure.launch,
            log_name=job.playbook.kind.log_name,
            known=len(job.wishes.patches),
            bundle=failure.bundle,
            host=host,
            hosts=fall.hosts,
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


def _choose(acting: Acting, plan: Plan, failure: Failure, goal: Goal) -> Decision:
    job = acting.reading.job
    with acting.reading.located(plan.survey):
        return choose(
            failure.diagnosis,
            plan,
            plan.survey,
            job.wishes,
            launch=failure.launch,
            downloads=job.command("up") if goal in ("remediate", "patch") else None,
            from_outside=failure.from_outside,
        )


def _held_by_others(fall: Fall, decision: Decision, goal: Goal) -> Shortage | None:
    """Who has the memory that a launch lacked, and has it still; None where something is left to be done."""
    own, reading = fall.failure.diagnosis.finding, fall.acting.reading
    waits = any(
        action.name == "gpu_memory_wait"
        for patch in reading.job.wishes.patches
        if own is not None and patch.id == own.patch
        for way in patch.remedy
        for action in way.do
    )
    if not waits or decision.change is not None or decision.pending:
        return None
    reading.look_anew()
    plan = reading.plan(goal)
    return gpu_shortage(plan.playbook, plan.survey, plan.version, plan.options, plan.changes)


def _concerns(fall: Fall, failed: Plan, other: Plan) -> bool:
    """Whether what cures a failure is for another host too: it serves the same model, and the patch's window does not
    tell the two apart."""
    own = fall.failure.diagnosis.finding
    patches = fall.acting.reading.job.wishes.patches
    windows = next((patch.window for patch in patches if own and patch.id == own.patch), ())
    return failed.playbook.model == other.playbook.model and concerns(windows, other.known, failed.known)


def _sets(decision: Decision) -> bool:
    return decision.change is not None and decision.change.sets_something


def _before(plan: Plan, change: Change, failure: Failure) -> list[Step]:
    """What a remedy does once, before what it sets."""
    steps: list[Step] = [Clean(plan.survey.observed)]
    if change.cleanups:
        remedy = failure.diagnosis.remedy
        steps.append(CleanUp(plan, change, failure.launch, remedy.known.groups if remedy else {}))
    if change.redownloads:
        steps.append(DiscardStep(plan, change))
    return steps
