"""Which steps does a verb take on a host as it was surveyed, and in which order?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.base.errors import DeployError
from orchestrator.group.ways import CheckpointWay
from orchestrator.install.installation import Installation
from orchestrator.job import Job
from orchestrator.plan.caveats import wants_linger
from orchestrator.plan.change import Change
from orchestrator.plan.installing import CONSENT
from orchestrator.plan.plan import Plan
from orchestrator.plan.wishes import Goal
from orchestrator.steps.accompany import Accompany, Rejoin
from orchestrator.steps.answer import AnswerStep
from orchestrator.steps.clean import Clean
from orchestrator.steps.confirm import Confirm
from orchestrator.steps.diagnose import Diagnose
from orchestrator.steps.download import Download
from orchestrator.steps.install_engine import InstallEngine
from orchestrator.steps.launch import LaunchStep
from orchestrator.steps.linger import Linger
from orchestrator.steps.patch import PatchStep
from orchestrator.steps.refusals import refusals, still_absent, taken
from orchestrator.steps.smoke import SmokeStep
from orchestrator.steps.step import Onward, Step
from orchestrator.steps.verify import VerifyStep
from orchestrator.steps.watch import WatchStep, under_way

OF_A_LAUNCH = ("trust-remote-code", "listen-openly", CONSENT)
"""Consents that only what is started needs: a patch alone runs nothing."""


@dataclass(frozen=True)
class Course:
    """A plan as the steps that carry it out: what `plan` and `--dry-run` tell is what a run does.

    `refusals` are what would keep the run from it.
    """

    goal: Goal
    plan: Plan
    steps: tuple[Step, ...]
    refusals: tuple[DeployError, ...]
    lacking: Mapping[str, str]
    """The consents that are missing for these steps, each with what asks for it."""

    @property
    def only_asks(self) -> bool:
        """Whether the launch that is there is only asked for completions, and stays as it is."""
        return all(isinstance(step, (Confirm, AnswerStep)) for step in self.steps)

    @property
    def starts(self) -> bool:
        """Whether an engine is started, if all goes as it is planned."""
        return _starts(self.steps)

    @property
    def way(self) -> str:
        """By which the checkpoint comes, where hosts give it to each other."""
        return next((step.way.words for step in self.steps if isinstance(step, Download) and step.way), "")

    @property
    def waiting(self) -> tuple[Change, ...]:
        """The plan's changes where none of these steps applies them: a launch that lives keeps what it was started with,
        and they wait for the next start."""
        return () if any(isinstance(step, PatchStep) for step in self.steps) else self.plan.changes

    @property
    def serving(self) -> Confirm | None:
        """What is asked of the launch that serves already, where all of it stays as it is."""
        return next((step for step in self.steps if isinstance(step, Confirm)), None)

    def as_json(self) -> dict[str, Any]:
        """The object that `deploy plan --json` prints."""
        plan = self.plan.as_json()
        waiting = {change.patch.id for change in self.waiting}
        for prediction in plan["predictions"]:
            if prediction["patch"] in waiting:
                prediction["action"] = f"at the next start: {prediction['action']}"
        return {
            **plan,
            "patches": [] if waiting else plan["patches"],
            "next_start": {"patches": plan["patches"] if waiting else []},
            "serving": self.serving and self.serving.standing,
            "steps": [step.as_json() for step in self.steps],
            "refusals": [{"code": refusal.code, "message": refusal.message} for refusal in self.refusals],
            "missing_consents": list(self.lacking),
        }


def course(
    job: Job, plan: Plan, goal: Goal, begin: Onward | None = None, way: CheckpointWay | None = None
) -> Course:
    """What is to be done for this goal, from the start or where an earlier step left off; `way` is by which the checkpoint comes."""
    elsewhere = taken(job, plan.survey.history)
    if begin is None and goal in ("up", "remediate") and _stands(plan):
        return Course(goal, plan, (Confirm(plan),), elsewhere, {})  # whatever the host lacks by now
    begin = "launch" if begin == "crowded" else begin
    begin = begin or ("fetch" if goal in ("restart", "fetch") else "follow")
    steps = tuple(_steps(job, plan, goal, begin, way))
    if goal == "fetch":
        return Course(goal, plan, steps, (*elsewhere, *still_absent(job, plan, begin)), _of_installing(plan))
    if goal == "patch":
        return Course(goal, plan, steps, elsewhere, _of_changes(plan))
    forbidden = (
        *elsewhere,
        *still_absent(job, plan, begin),
        *refusals(job, plan, counted=_is_counted(steps)),
    )
    return Course(goal, plan, steps, forbidden, plan.lacking)


def _stands(plan: Plan) -> bool:
    """Whether a launch is there that is only to be asked; one that answers no requests counts by what came of it."""
    return plan.survey.observed.serves or (not plan.playbook.serves and plan.survey.proven)


def _is_counted(steps: Sequence[Step]) -> bool:
    """Whether these steps start a launch of this incident for certain: what is diagnosed first may need none, and a
    person who stops ends the incident."""
    opens_anew = any(isinstance(step, Clean) and step.by_person for step in steps)
    return _starts(steps) and not opens_anew and not isinstance(steps[0], Diagnose)


def _starts(steps: Sequence[Step]) -> bool:
    return any(isinstance(step, LaunchStep) for step in steps)


def _steps(job: Job, plan: Plan, goal: Goal, begin: Onward, way: CheckpointWay | None) -> Iterator[Step]:
    if begin == "follow":
        following = tuple(_follow(job, plan, goal))
        yield from following
        if following and not isinstance(following[-1], Diagnose):
            return
    if goal == "patch":
        yield PatchStep(plan, plan.changes)
        return
    if plan.installs:
        engine = plan.playbook.engine
        yield InstallEngine(Installation(plan.installs, plan.playbook.kind, engine.index, engine.wheels))
    if begin != "launch":
        yield from _checkpoint(plan, goal, way, fetched=begin == "verify")
    if goal != "fetch":
        yield from _launch(job, plan, stops=goal == "restart" and begin != "launch")


def _follow(job: Job, plan: Plan, goal: Goal) -> Iterator[Step]:
    """What becomes of the launch that is under way, or of one whose end nobody has seen."""
    survey, launch = plan.survey, under_way(plan.survey)
    outcome = survey.outcome
    if launch is None or (outcome is not None and outcome.result == "stopped"):
        return
    if survey.observed.alive and goal == "patch":
        return
    if not plan.playbook.serves and survey.observed.alive:
        yield Rejoin(plan, launch)
        yield Accompany(plan, ours=False)
    elif survey.proven:
        yield AnswerStep(plan, launch)
    elif survey.observed.alive:
        yield WatchStep(plan, launch)
        yield SmokeStep(plan, ours=False)
    elif (
        outcome is None
        or outcome.result == "healthy"
        or goal in ("remediate", "patch")
        or unanswered(job, plan)
    ):
        yield Diagnose(plan, launch)


def unanswered(job: Job, plan: Plan) -> bool:
    """Whether the last launch failed for a cause whose remedy was not tried: a run was ended in between."""
    outcome = plan.survey.outcome
    finding = outcome.finding if outcome else None
    return finding not in plan.survey.history.tried and any(
        patch.remedy for patch in job.wishes.patches if patch.id == finding
    )


def _checkpoint(plan: Plan, goal: Goal, way: CheckpointWay | None, *, fetched: bool) -> Iterator[Step]:
    if plan.playbook.model.repository is None:
        yield VerifyStep(plan, "refuse")
    elif fetched:
        yield VerifyStep(plan, "fetched")
    elif goal in ("up", "fetch"):
        yield Download(plan, way)
        yield VerifyStep(plan, "fetch")
    else:
        yield VerifyStep(plan, "refuse")


def _launch(job: Job, plan: Plan, *, stops: bool) -> Iterator[Step]:
    survey = plan.survey
    if stops or (survey.observed.launch is not None and not survey.history.cleaned):
        yield Clean(survey.observed, by_person=stops, anew=stops)
    yield PatchStep(plan, plan.changes)
    if "linger" in job.consents and wants_linger(survey):
        yield Linger()
    yield LaunchStep(plan)
    if plan.playbook.serves:
        yield WatchStep(plan)
        yield SmokeStep(plan)
    else:
        yield Accompany(plan)


def _of_installing(plan: Plan) -> dict[str, str]:
    """The missing consents of what only makes ready for a launch."""
    return {name: why for name, why in plan.lacking.items() if name == CONSENT}


def _of_changes(plan: Plan) -> dict[str, str]:
    """The missing consents that a patch needs of which nothing is started."""
    wanted = {consent for change in plan.changes for consent in change.consents}
    return {name: why for name, why in plan.lacking.items() if name in wanted or name not in OF_A_LAUNCH}
