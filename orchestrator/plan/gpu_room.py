"""Is there room on the cards for a launch, and if not, who takes it? Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orchestrator.engines.sizing import TORCH_SHARE
from orchestrator.facts.gpu_processes import GpuProcess
from orchestrator.facts.gpus import Gpu
from orchestrator.plan.gpu_holders import holders

if TYPE_CHECKING:
    from orchestrator.programs.cleanup import Waited

LITTLE_MIB = 2048
LITTLE_SHARE = 0.04
"""What a desktop or a driver takes; the engine's share then only has to be a little lower, which a remedy sees to."""
MARGIN = 0.01
"""What an engine sees as free is less than nvidia-smi says: a context of its own, and memory that the driver keeps."""
LEAST_SHARE = 0.2


@dataclass(frozen=True)
class Demand:
    """What a launch of an engine asks of the cards by its option: how many, which share of each, CUDA_VISIBLE_DEVICES where it is set, and whether
    CUDA numbers the cards as nvidia-smi does though they differ (CUDA_DEVICE_ORDER; else the fastest is its first)."""

    engine: str
    option: str
    cards: int
    share: float
    visible: str | None = None
    by_bus: bool = False


@dataclass(frozen=True)
class SmallerShare:
    """A share of each card that is free, and the tokens of one request where only fewer than were asked for fit into it."""

    option: str
    share: float
    context: int | None = None

    @property
    def settings(self) -> tuple[str, ...]:
        """What --set takes."""
        shorter = () if self.context is None else (f"context={self.context}",)
        return (f"arguments.{self.option}={self.share:g}", *shorter)


@dataclass(frozen=True)
class FewerCards:
    """Cards that have room and hold the whole launch, and what --set takes to spread each layer over no more than them."""

    cards: tuple[int, ...]
    settings: tuple[str, ...]


@dataclass(frozen=True)
class Shortage:
    """A card on which the engine would find less free than it takes at its start, and would refuse; sizes in MiB."""

    card: Gpu
    free_mib: int
    needed_mib: int
    launch: Demand
    short: int
    """How many of the launch's cards are short."""
    holders: tuple[GpuProcess, ...]
    """Who computes on those cards and is none of ours, one for each card."""
    unseen_mib: int
    """What is held on that card by nobody who is listed."""
    roomy: tuple[int, ...] = ()
    """Cards that have room, by the numbers that CUDA has for them; none where those are not known."""
    lower: SmallerShare | None = None
    """The share that would be free on every card of the launch; None where nothing fits into it."""
    unfit: str = ""
    """Why nothing does."""
    fewer: FewerCards | None = None
    """Where there are not as many cards with room as it takes."""

    @property
    def elsewhere(self) -> tuple[int, ...]:
        """Cards that have room, as many as the launch needs; none where there are not so many."""
        return self.roomy[: self.launch.cards] if len(self.roomy) >= self.launch.cards else ()

    @property
    def little(self) -> bool:
        """Whether it is no more than a desktop or a driver takes."""
        return (self.card.memory_mib or 0) - self.free_mib <= _little(self.card)

    @property
    def sentence(self) -> str:
        """Which card, how much, and who has it."""
        others = self.short - 1
        more = f", and {others} more {'is' if others == 1 else 'are'} short" if others else ""
        return (
            f"GPU{self.card.index} has {self.free_mib:,} of {self.card.memory_mib:,} MiB free, {self.launch.engine} takes "
            f"{self.needed_mib:,} MiB ({self.launch.share:g} of it) or refuses to start{more}: {self.holding}"
        )

    @property
    def holding(self) -> str:
        listed = holders(self.holders)
        if self.unseen_mib > _little(self.card):
            listed.append(
                f"{self.unseen_mib:,} MiB are held by what cannot be seen from here, such as another container"
            )
        return "; ".join(listed) or "nobody who is listed holds it"

    @property
    def shared(self) -> str:
        """What is launched beside them where that may be done unasked."""
        assert self.lower is not None
        return f"{self.sentence}. It stays, and by the consent share-cards this launch has {' '.join(self.lower.settings)}"

    @property
    def advice(self) -> str:
        """What a person could do, in words."""
        ways = ["wait until it has ended"]
        if self.elsewhere:
            ways.append(f"take other cards, which have room ({_visible(self.elsewhere)})")
        if self.lower is not None:
            shorter = "" if self.lower.context is None else ", a context that fits beside it"
            settings = " ".join(f"--set {setting}" for setting in self.lower.settings)
            ways.append(f"share the card with {settings}{shorter} (--consent share-cards does so by itself)")
        if self.fewer is not None:
            settings = " ".join(f"--set {setting}" for setting in self.fewer.settings)
            ways.append(f"take {len(self.fewer.cards)} cards alone ({settings} {_visible(self.fewer.cards)})")
        nothing = f". No smaller share of the card would do: {self.unfit}" if self.unfit else ""
        return f"It is not ours, so it stays: {', or '.join(ways)}{nothing}"

    @property
    def cure(self) -> dict[str, str]:
        """What the next command may give: other `cards`, a `setting`, fewer cards (`narrower`, and `needs` where the playbook says how
        many), or a setting with a `shorter` context; nothing where only waiting helps."""
        cards = ",".join(map(str, self.elsewhere))
        whole = self.lower is not None and self.lower.context is None
        if self.elsewhere:
            return {"cards": cards}
        if self.fewer is not None and not whole:
            cards = ",".join(map(str, self.fewer.cards))
            return {"cards": cards, **dict(zip(("narrower", "needs"), self.fewer.settings, strict=False))}
        settings = () if self.lower is None else self.lower.settings
        return dict(zip(("setting", "shorter"), settings, strict=False))


def shortage(
    cards: Sequence[Gpu], processes: Iterable[GpuProcess], launch: Demand, *, own: Collection[int] = ()
) -> Shortage | None:
    """The fullest card of a launch that would be refused for want of free memory; None where each has room.

    What processes of our `own` hold is given back before a launch. None too where something is not known: a size, which
    cards are meant, or what our own processes hold (in a container the driver tells the pids of the host).
    """
    listed = list(processes)
    meant = measured(cards, launch)
    if not meant:
        return None
    if own and not any(process.pid in own and process.memory_mib for process in listed):
        return None
    free = {card.uuid: _free(card, listed, own) for card in cards}
    short = [card for card in meant if free[card.uuid] < _needed(card, launch) * (1 - MARGIN)]
    if not short:
        return None
    fullest = min(short, key=lambda card: free[card.uuid] / (card.memory_mib or 1))
    uuids = {card.uuid for card in short}
    foreign = tuple(process for process in listed if process.gpu_uuid in uuids and process.pid not in own)
    on_it = sum(process.memory_mib or 0 for process in foreign if process.gpu_uuid == fullest.uuid)
    unknown = any(process.memory_mib is None for process in foreign if process.gpu_uuid == fullest.uuid)
    roomy = [card.index for card in cards if free[card.uuid] >= _needed(card, launch)]
    share = math.floor((free[fullest.uuid] / (fullest.memory_mib or 1) - 0.02) * 100) / 100
    return Shortage(
        card=fullest,
        free_mib=free[fullest.uuid],
        needed_mib=round(_needed(fullest, launch)),
        launch=launch,
        short=len(short),
        holders=foreign,
        unseen_mib=0 if unknown else max(0, (fullest.memory_mib or 0) - free[fullest.uuid] - on_it),
        roomy=tuple(roomy) if _numbers_hold(cards, launch) else (),
        lower=SmallerShare(launch.option, share) if share >= LEAST_SHARE else None,
        unfit="" if share >= LEAST_SHARE else f"less than {LEAST_SHARE:g} of it is free",
    )


def at_most_in_use(cards: Sequence[Gpu], launch: Demand) -> dict[str, int]:
    """MiB by uuid that may be in use on each card of a launch, for the engine not to refuse what no remedy would mend; none where
    the cards or their sizes are not known."""
    return {
        card.uuid: math.floor(max(card.memory_mib - _needed(card, launch) * (1 - MARGIN), _little(card)))
        for card in meant_by(cards, launch)
        if card.memory_mib is not None
    }


def measured(cards: Sequence[Gpu], launch: Demand) -> list[Gpu]:
    """The cards that the launch will take; none where they are not known, or one of them does not tell its memory."""
    meant = meant_by(cards, launch)
    untold = any(card.memory_mib is None or card.memory_used_mib is None for card in meant)
    return [] if untold else meant


def meant_by(cards: Sequence[Gpu], launch: Demand) -> list[Gpu]:
    """The cards that the launch will take: the first of those that it may see; none where that is not known."""
    if any(card.mig == "Enabled" for card in cards):
        return []
    visible = list(cards) if _numbers_hold(cards, launch) or launch.cards == len(cards) else []
    if launch.visible is not None:
        names = [name.strip() for name in launch.visible.split(",") if name.strip()]
        known = [name for name in names if _numbers_hold(cards, launch) or not name.isdecimal()]
        named = [_named(cards, name) for name in known]
        visible = [card for card in named if card is not None]
        if len(visible) < len(names):
            return []
    return visible[: launch.cards] if len(visible) >= launch.cards else []


def _numbers_hold(cards: Sequence[Gpu], launch: Demand) -> bool:
    """Whether a card has the same number for CUDA as for nvidia-smi."""
    return launch.by_bus or len({card.name for card in cards}) == 1


def _named(cards: Sequence[Gpu], name: str) -> Gpu | None:
    same = [
        card
        for card in cards
        if str(card.index) == name or (name.startswith("GPU-") and card.uuid.startswith(name))
    ]
    return same[0] if len(same) == 1 else None


def _free(card: Gpu, processes: Iterable[GpuProcess], own: Collection[int]) -> int:
    ours = sum(
        process.memory_mib or 0
        for process in processes
        if process.gpu_uuid == card.uuid and process.pid in own
    )
    return (card.memory_mib or 0) - (card.memory_used_mib or 0) + ours


def _visible(cards: Sequence[int]) -> str:
    return f"--env CUDA_VISIBLE_DEVICES={','.join(map(str, cards))}"


def _little(card: Gpu) -> float:
    return max(LITTLE_MIB, (card.memory_mib or 0) * LITTLE_SHARE)


def _needed(card: Gpu, launch: Demand) -> float:
    return (card.memory_mib or 0) * TORCH_SHARE * launch.share


def after_waiting(cards: Sequence[Gpu], waited: Waited) -> tuple[tuple[Gpu, ...], tuple[GpuProcess, ...]]:
    """Cards and processes as they were when the host had waited for memory."""
    used = waited.used_mib
    now = tuple(replace(card, memory_used_mib=used.get(card.uuid, card.memory_used_mib)) for card in cards)
    return now, waited.holders
