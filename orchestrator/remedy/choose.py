"""Which remedy does a failure call for, and when is there none left?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.engines.sizing import Fit
from orchestrator.patches import propose
from orchestrator.patches.patch import Patch
from orchestrator.patches.proposal import ProposedWay
from orchestrator.plan import resolve
from orchestrator.plan.change import Change, worked_out
from orchestrator.plan.known import of_launch
from orchestrator.plan.outlook import with_consequences
from orchestrator.plan.plan import Plan
from orchestrator.plan.wishes import Wishes
from orchestrator.survey.journal import AppliedPatch
from orchestrator.survey.survey import Survey

if TYPE_CHECKING:
    from orchestrator.diagnosis.verdict import Diagnosis


@dataclass(frozen=True)
class Decision:
    """The change to make, or why there is none; `revert` is a patch that did not help and is taken back."""

    change: Change | None
    reason: str = ""
    revert: AppliedPatch | None = None
    pending: bool = False
    """The remedy was applied after that launch: the next one will tell."""
    cost: str = ""
    advice: str = ""
    """What a person may do, told once: with the finding."""


def choose(
    diagnosis: Diagnosis,
    plan: Plan,
    survey: Survey,
    wishes: Wishes,
    *,
    launch: int,
    downloads: str | None = None,
    from_outside: bool = False,
) -> Decision:
    """The remedy for the failure of that launch: the mildest way of the patch that recognised it which changes
    something, goes with what is in force, and was not taken before. On a finding that is only likely nothing is set: what
    would be is told, and a person may ask for it.

    `downloads` is the command by which files are fetched, where nothing may be fetched now. A launch that was killed
    `from_outside` is launched once more as it is: the next one tells whether that comes again.
    """
    if (settled := _settled(diagnosis, survey, wishes, launch, from_outside)) is not None:
        return settled
    assert diagnosis.finding is not None and diagnosis.remedy is not None
    patch = next(patch for patch in wishes.patches if patch.id == diagnosis.finding.patch)
    history = survey.history
    applied = history.patch(patch.id)
    back = applied if applied is not None and not applied.confirmed else None
    advice = "; ".join(diagnosis.remedy.advice)
    reason = "its remedy finds nothing to change here" if patch.remedy or not advice else ""
    guesses: list[Change] = []
    known = diagnosis.remedy.known.over(of_launch(plan.playbook, survey, plan.version, plan.options))
    for way in propose.ways(patch, known):
        if obstacle := _obstacle(way, patch, survey):
            reason = obstacle
            continue
        change = worked_out(
            way, patch, why="finding", evidence=_text(diagnosis), configs=survey.checkpoint.configs
        )
        if not change.changes_something or _was_tried(change, survey):
            continue
        if diagnosis.finding.confidence == "likely" and not (way.looks_first or way.consents):
            guesses.append(change)
            continue
        if change.redownloads and plan.playbook.model.repository is None:
            reason = "files would have to be fetched again, and the playbook names no repository"
            continue
        if change.redownloads and downloads:
            reason = f"files have to be fetched again, which {downloads} does"
            continue
        planned, cost = _with_cost(way, change, plan, survey)
        # what goes on from an option that was dropped to the files it hid does not begin anew
        return Decision(planned, cost=cost, revert=None if _followed(change, applied) else back)
    if patch.id in history.tried or applied is not None:
        taken_back = ", so it was taken back" if back else ""
        return Decision(None, f"The same failure came back after {patch.id}{taken_back}", revert=back)
    if guesses:
        reason = f"the cause is only likely, so nothing is set unasked: --patch {patch.id} would {guesses[0].action}"
    return Decision(None, reason, advice=advice)


def _settled(
    diagnosis: Diagnosis, survey: Survey, wishes: Wishes, launch: int, from_outside: bool
) -> Decision | None:
    """What is decided before any way is looked at; None where the ways of its patch have to be."""
    if from_outside and survey.history.killed < 2:
        return Decision(
            None, "launched once more as it is, since nothing here explains the kill", pending=True
        )
    if diagnosis.finding is None or diagnosis.remedy is None:
        return Decision(None, "no patch knows this failure")
    name = diagnosis.finding.patch
    if name in wishes.forbidden:
        return Decision(None, f"{name} would mend it and is forbidden (--no-patch)")
    applied = survey.history.patch(name)
    if applied is not None and applied.launch >= launch:
        return Decision(None, f"{name} is in force since then", pending=True)
    return None


def _obstacle(way: ProposedWay, patch: Patch, survey: Survey) -> str:
    """Why a way may not be taken whatever it changes; "" where it may."""
    against = [name for name in way.conflicts if survey.history.patch(name) is not None]
    if against:
        return f"{patch.id} does not go with {against[0]}, which is in force: {way.conflicts[against[0]]}"
    missing = [str(action.name) for action in way.actions if action.kind == "install"]
    return f"{', '.join(missing)} has to be installed by a person" if missing else ""


def _with_cost(way: ProposedWay, change: Change, plan: Plan, survey: Survey) -> tuple[Change, str]:
    """The change with what it brings about, and what it costs then."""
    standing = resolve.standing(plan.playbook, survey, plan.version)
    (planned,), _, fit = with_consequences(plan.playbook, survey, plan.version, (change,), standing)
    growth = "" if fit.verdict == "unknown" else f"; {_growth(plan.fit, fit)}"
    return planned, f"{way.cost}{growth}"


def _was_tried(change: Change, survey: Survey) -> bool:
    """Whether this way was taken within the incident, or is in force without having helped."""
    applied = survey.history.patch(change.patch.id)
    if _followed(change, applied):
        return False
    ways = survey.history.tried.get(change.patch.id, ())
    return change.way in ways or "" in ways or (applied is not None and applied.way in (change.way, ""))


def _followed(change: Change, applied: AppliedPatch | None) -> bool:
    """The files decide only once an explicit option is gone, so their edit may follow it."""
    return applied is not None and not applied.files and bool(change.edits and change.edits.edits)


def _growth(before: Fit, after: Fit) -> str:
    """What a change makes of the KV cache and the context: "KV cache 35,136 -> 70,272 B a token; context stays 131072"."""
    old, new = before.kv_bytes_per_token, after.kv_bytes_per_token
    each = f"{new:,}" if old in (None, new) else f"{old:,} -> {new:,}"
    context = (
        f"stays {after.context}"
        if after.context == before.context
        else f"{before.context} -> {after.context}"
    )
    return f"KV cache {each} B a token; context {context}"


def _text(diagnosis: Diagnosis) -> str:
    return diagnosis.root_cause.text if diagnosis.root_cause else ""
