"""Have the cards room for this launch, and what of it would fit beside those who hold their memory? Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from orchestrator.base.consents import Consent
from orchestrator.engines.options import Option, Options
from orchestrator.facts import gpu_processes, machine
from orchestrator.facts.machine import Machine
from orchestrator.facts.source import Unknown
from orchestrator.plan import gpu_room, outlook
from orchestrator.plan.change import Change
from orchestrator.plan.gpu_room import Demand, FewerCards, Shortage, SmallerShare
from orchestrator.plan.installing import on_cpu
from orchestrator.plan.measured import VISIBLE
from orchestrator.plan.still_held import StillHeld, still_held
from orchestrator.playbook.playbook import Playbook
from orchestrator.survey.survey import Survey

if TYPE_CHECKING:
    from typing import TypeGuard

    from orchestrator.programs.cleanup import Waited

SHARE_CARDS: Consent = "share-cards"
LEAST_CONTEXT = 2048
"""Tokens; a request of fewer is of no use."""


def demand(survey: Survey, version: str | None, options: Options) -> Demand:
    """What this launch asks of the cards."""
    system = survey.facts.of(machine.FACT)
    visible = options.variable(VISIBLE)
    if visible is None and isinstance(system, Machine):
        visible = system.cuda_visible_devices
    by_bus = options.variable("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    share = options.memory_share(version)
    return Demand(options.engine, options.share_option, options.gpus, share, visible, by_bus)


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
    changes: Sequence[Change] = (),
    *,
    now: Waited | None = None,
) -> Shortage | None:
    """The card on which this launch would be refused for want of free memory, with what would fit there; what the engine needs
    besides is the fit's matter.

    `now` is how the cards were when the host had waited for memory; without it the facts tell. `changes` are those in `options`.
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
    if short is None:
        return None
    short = replace(short, fewer=_fewer(short, playbook, survey, version, options, changes))
    if short.lower is None:
        return short
    return _fitting(short, short.lower, playbook, survey, version, options, changes)


def shares(short: Shortage | StillHeld | None, consents: Collection[str]) -> TypeGuard[Shortage]:
    """Whether the launch may be made smaller unasked, and then fits."""
    return isinstance(short, Shortage) and short.lower is not None and SHARE_CARDS in consents


def sharing(options: Options, short: Shortage) -> Options:
    """The launch as it fits beside who holds the cards."""
    lower = short.lower
    if lower is None:
        return options
    changed = options.changed({options.share_option: Option(lower.share, "chosen")})
    if lower.context is None:
        return changed
    return changed.changed({options.context_option: Option(lower.context, "chosen")})


def held(
    playbook: Playbook,
    survey: Survey,
    version: str | None,
    options: Options,
    waited: Waited,
    read: Mapping[str, str],
) -> Shortage | StillHeld | None:
    """For want of what the next launch would be refused again, once memory was waited for: by the cards, else by what was `read` of
    the engine's own refusal. A little less than is asked is for another remedy."""
    short = gpu_shortage(playbook, survey, version, options, now=waited)
    if short is not None:
        return None if short.little else short
    launch = demand(survey, version, options)
    now, _ = gpu_room.after_waiting(survey.facts.cards, waited)
    if on_cpu(playbook, survey) or gpu_room.measured(now, launch):
        return None
    return still_held(read, waited, launch, outlook.fit(playbook, survey, version, options))


def _fewer(
    short: Shortage,
    playbook: Playbook,
    survey: Survey,
    version: str | None,
    options: Options,
    changes: Sequence[Change],
) -> FewerCards | None:
    """The most cards with room that hold the whole launch, half as many or fewer, where there are not enough for it."""
    tensor, needs = options.tensor, playbook.needs.gpus
    while not short.elsewhere and tensor % 2 == 0:
        tensor //= 2
        count = options.gpus // options.tensor * tensor
        narrower = options.changed({options.tensor_option: Option(tensor, "option")})
        if (
            count > len(short.roomy)
            or outlook.fit(playbook, survey, version, narrower, changes).verdict != "fits"
        ):
            continue
        settings = (
            f"parallel.tensor={tensor}",
            *((f"needs.gpus={count}",) if needs and needs > count else ()),
        )
        return FewerCards(short.roomy[:count], settings)
    return None


def _fitting(
    short: Shortage,
    lower: SmallerShare,
    playbook: Playbook,
    survey: Survey,
    version: str | None,
    options: Options,
    changes: Sequence[Change],
) -> Shortage:
    """The same with a context that fits into the share which is free, or without that share where none is left."""
    fit = outlook.fit(playbook, survey, version, options.taking(lower.share), changes)
    if fit.verdict != "does_not_fit":
        return short
    longest = fit.longest_context or 0
    if longest >= LEAST_CONTEXT and options.context != "auto":
        return replace(short, lower=replace(lower, context=longest))
    reason = fit.reason.partition(": ")[0]
    return replace(short, lower=None, unfit=f"in the {lower.share:g} of it that is free {reason}")
