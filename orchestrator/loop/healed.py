"""What healed one replica: what of it is planned for the others, before they fail by the same?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.loop.reading import Reading
from orchestrator.plan.plan import Plan
from orchestrator.plan.windows import concerns
from orchestrator.programs.journal import PatchRecord
from orchestrator.survey.journal import AppliedPatch


def inherit(healthy: Reading, others: Sequence[Reading]) -> None:
    """Plan for the others what is in force on a replica that came up with it, where it concerns them.

    What it set goes on record there as in force from the next launch on, since nobody could work it out again without the
    failure; the files of another host are edited as if the patch was asked for by name. One that lives is left as it is.
    """
    _, history = healthy.observe()
    in_force = [applied for applied in history.applied if applied.confirmed]
    if not in_force:
        return
    for reading in others:
        plan = reading.plan()
        if plan.survey.observed.alive:
            continue
        for applied in in_force:
            if plan.survey.history.patch(applied.patch) is None and _concerns(applied, plan, healthy):
                _plan_for(reading, plan, applied, healthy)


def _plan_for(reading: Reading, plan: Plan, applied: AppliedPatch, healthy: Reading) -> None:
    job, patch = reading.job, applied.patch
    if not applied.files:
        job.record(
            PatchRecord(
                patch=patch,
                folder=plan.survey.checkpoint.folder,
                flags=applied.flags,
                environment=applied.environment,
                why=applied.why,
                way=applied.way,
                cause=applied.cause,
            )
        )
    elif job.host.name == healthy.job.host.name:
        return  # they share the checkpoint, whose files are edited
    else:
        wishes = job.wishes
        wishes = replace(wishes, forced=(*wishes.forced, patch), inherited=(*wishes.inherited, patch))
        reading.job = replace(job, wishes=wishes)
    job.report.emit(
        "note", f"{patch} healed {healthy.job.name}: it is in force here from the start", patch=patch
    )


def _concerns(applied: AppliedPatch, other: Plan, healthy: Reading) -> bool:
    """Whether the patch is for another replica of the same model too; not where it is gone from the catalogue, or forbidden."""
    patch = next((patch for patch in healthy.job.wishes.allowed if patch.id == applied.patch), None)
    return patch is not None and concerns(patch.window, other.known)
