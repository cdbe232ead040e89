"""What do changes bring about with this engine, checkpoint and card, and does the context fit?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.engines import sizing
from orchestrator.engines.options import Options
from orchestrator.patches import propose
from orchestrator.plan import resolve
from orchestrator.plan.change import Change, with_edits
from orchestrator.plan.fitting import Fitting
from orchestrator.plan.known import kv_dtype, of_launch
from orchestrator.playbook.playbook import Playbook
from orchestrator.survey.survey import Survey


def with_consequences(
    playbook: Playbook,
    survey: Survey,
    version: str | None,
    changes: Sequence[Change],
    options: Options,
    *,
    fp8_fails: bool = False,
) -> tuple[tuple[Change, ...], Options, sizing.Fit]:
    """The changes with what they bring about, the options and the fit then: each spares a launch that would fail for it.
    `fp8_fails`: whether a KV cache in FP8 is no way out here.

    Without an explicit option the checkpoint's own config decides, so a way that edits it where no option is set does so in
    the same step in which it takes the option away. A KV cache in bf16 takes twice the bytes of FP8, so the context shrinks
    where it no longer fits.
    """
    changes = [_with_edits(playbook, survey, version, change, options) for change in changes]
    then = resolve.changed(options, changes)
    judged = fit(playbook, survey, version, then, changes, fp8_fails=fp8_fails)
    if not changes or judged.verdict != "does_not_fit" or not judged.longest_context:
        return tuple(changes), then, judged
    flags = {**changes[-1].flags, f"--{options.context_option}": str(judged.longest_context)}
    planned = (*changes[:-1], replace(changes[-1], flags=flags))
    then = resolve.changed(options, planned)
    return planned, then, fit(playbook, survey, version, then, planned, fp8_fails=fp8_fails)


def _with_edits(
    playbook: Playbook, survey: Survey, version: str | None, change: Change, options: Options
) -> Change:
    if (
        change.edits is not None
        or change.pending
        or change.number is None
        or None not in change.flags.values()
    ):
        return change
    then = of_launch(playbook, survey, version, resolve.changed(options, (change,)))
    return with_edits(
        change, propose.edits_then(change.patch, change.number, then), survey.checkpoint.configs
    )


def fit(
    playbook: Playbook,
    survey: Survey,
    version: str | None,
    options: Options,
    changes: Sequence[Change] = (),
    *,
    fp8_fails: bool = False,
) -> sizing.Fit:
    """How weights and the KV cache of one full request fit into the smallest GPU, with these options and once the
    changes' edits are in."""
    configs = dict(survey.checkpoint.configs)
    for change in changes:
        configs.update(change.edits.after if change.edits else {})
    dtype = kv_dtype(playbook, configs, version, options)
    deciding = playbook.kind.cache_type.members
    if any(edit.path.rpartition("/")[2] in deciding for change in changes for edit in change.pending):
        dtype = "auto"
    return Fitting(playbook, survey, version, options, configs, dtype, bool(changes) or fp8_fails).judged()
