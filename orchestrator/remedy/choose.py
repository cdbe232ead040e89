"""Which remedy does a failure call for, and when is there none left?"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.diagnosis.engine import Diagnosis
from orchestrator.engine.sizing import Fit
from orchestrator.journal import AppliedPatch
from orchestrator.outlook import with_consequences
from orchestrator.plan import Plan, Wishes
from orchestrator.remedy.change import Change, answering
from orchestrator.survey import Survey


@dataclass(frozen=True)
class Decision:
    """The change to make, or why there is none; `revert` is a patch that did not help and is taken back."""

    change: Change | None
    reason: str = ""
    revert: AppliedPatch | None = None
    pending: bool = False
    """The remedy was applied after that launch: the next one will tell."""
    cost: str = ""


def choose(diagnosis: Diagnosis, plan: Plan, survey: Survey, wishes: Wishes, *, launch: int) -> Decision:
    """The remedy for the failure of that launch: the patch's that recognised it, once, where it changes something."""
    if diagnosis.finding is None or diagnosis.remedy is None:
        return Decision(None, "no patch knows this failure")
    patch = next(patch for patch in wishes.patches if patch.id == diagnosis.finding.patch)
    if patch.id in wishes.forbidden:
        return Decision(None, f"{patch.id} would mend it and is forbidden (--no-patch)")
    change = answering(
        diagnosis.remedy.actions, patch, cause=_text(diagnosis), configs=survey.checkpoint.configs
    )
    applied = survey.history.patch(patch.id)
    # The files decide only once an explicit option is gone, so their edit may follow it.
    followed = applied is not None and not applied.files and change.edits is not None and change.edits.edits
    if applied is not None and applied.launch >= launch:
        return Decision(None, f"{patch.id} is in force since then", pending=True)
    if (patch.id in survey.history.tried or applied is not None) and not followed:
        back = applied if applied is not None and not applied.confirmed else None
        taken_back = ", so it was taken back" if back else ""
        return Decision(None, f"The same failure came back after {patch.id}{taken_back}", revert=back)
    if not change.changes_something:
        advice = "; ".join(diagnosis.remedy.advice) or "its remedy finds nothing to change here"
        return Decision(None, advice)
    (planned,), fit = with_consequences(plan.playbook, survey, plan.version, (change,))
    cost = patch.cost
    if fit.verdict != "unknown":
        cost += f"; {_growth(plan.fit, fit)}"
    return Decision(planned, cost=cost)


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
