"""What do changes bring about with this engine, checkpoint and card, and does the context fit?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from orchestrator.engines import sizing
from orchestrator.engines.options import Options
from orchestrator.facts import gpu_processes, machine
from orchestrator.facts.machine import Machine
from orchestrator.facts.source import Unknown
from orchestrator.patches import propose
from orchestrator.plan import gpu_room, resolve
from orchestrator.plan.change import Change, with_edits
from orchestrator.plan.fitting import Fitting
from orchestrator.plan.installing import on_cpu
from orchestrator.plan.known import kv_dtype, of_launch
from orchestrator.plan.measured import VISIBLE
from orchestrator.playbook.playbook import Playbook
from orchestrator.survey.survey import Survey

if TYPE_CHECKING:
    from orchestrator.programs.cleanup import Waited


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


def demand(survey: Survey, version: str | None, options: Options) -> gpu_room.Demand:
    """What this launch asks of the cards."""
    system = survey.facts.of(machine.FACT)
    visible = options.variable(VISIBLE)
    if visible is None and isinstance(system, Machine):
        visible = system.cuda_visible_devices
    by_bus = options.variable("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    return gpu_room.Demand(
        options.engine, options.share_option, options.gpus, options.memory_share(version), visible, by_bus
    )


def gpu_at_most(playbook: Playbook, survey: Survey, version: str | None, options: Options) -> dict[str, int]:
    """MiB by uuid that may be in use on each card when this launch starts; none where that is not known, or is no reason to
    refuse it."""
    if on_cpu(playbook, survey) or options.sizes_its_cache:
        return {}
    return gpu_room.at_most_in_use(survey.facts.cards, demand(survey, version, options))


def gpu_shortage(
    playbook: Playbook,
    survey: Survey,
    version: str | None,
    options: Options,
    *,
    now: Waited | None = None,
) -> gpu_room.Shortage | None:
    """The card on which this launch would be refused for want of free memory; what the engine needs besides is `fit`'s matter.

    `now` is how the cards were when the host had waited for memory; without it the facts tell.
    """
    computing, launch = survey.facts.of(gpu_processes.FACT), demand(survey, version, options)
    if on_cpu(playbook, survey):
        return None
    if now is not None:
        short = gpu_room.shortage(*gpu_room.after_waiting(survey.facts.cards, now), launch)
    elif not isinstance(computing, Unknown):
        short = gpu_room.shortage(survey.facts.cards, computing, launch, own=survey.facts.own)
    else:
        return None
    if short is None or short.lower is None:
        return short
    fits = fit(playbook, survey, version, resolve.standing(playbook, survey, version, share=short.lower))
    return replace(short, lower=None) if fits.verdict == "does_not_fit" else short
