"""Which GPUs are meant by "8xRTX PRO 6000", where no host is there to tell?"""

from __future__ import annotations

import difflib
import json
import math
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

from orchestrator.base.errors import UsageError
from orchestrator.engines.sizing import TORCH_SHARE
from orchestrator.facts.gpus import Gpu
from orchestrator.on_host.secrets.secrets import brief

MOST = 1024


@dataclass(frozen=True)
class Card:
    """A kind of card: the names that it goes by, and what an engine asks of it; memory as torch sees it, in GiB."""

    name: str
    also: tuple[str, ...]
    compute_cap: str
    torch_gib: float
    source: str
    """Where the size comes from."""

    @property
    def memory_mib(self) -> int:
        """What nvidia-smi would name for it to be of this size to torch."""
        return math.ceil(self.torch_gib * 1024 / TORCH_SHARE)


@dataclass(frozen=True)
class Named:
    """So many cards of one kind."""

    count: int
    card: Card

    @property
    def name(self) -> str:
        """As it is typed again."""
        return f"{self.count}x{self.card.name}"

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        """As facts of a host: what only one that is there has is not known."""
        return tuple(
            Gpu(
                index=number,
                name=self.card.name,
                uuid="",
                compute_cap=self.card.compute_cap,
                memory_mib=self.card.memory_mib,
                memory_used_mib=None,
                driver=None,
                mig=None,
            )
            for number in range(self.count)
        )


@cache
def known() -> tuple[Card, ...]:
    """Every kind of card that is known by name."""
    text = resources.files("orchestrator.survey").joinpath("cards.json").read_text()
    return tuple(Card(**{**card, "also": tuple(card["also"])}) for card in json.loads(text)["cards"])


def named(text: str) -> Named:
    """The cards that `[COUNTx]NAME` means, in any spelling of case, blanks and dashes; one where no count is there.

    Raises UsageError("unknown_gpu") with what is near.
    """
    match = re.fullmatch(r"\s*(?:([0-9]{1,9})\s*[x×*]\s*)?(.*?)\s*", text, re.IGNORECASE | re.DOTALL)
    count, name = (match[1], match[2]) if match else (None, text)
    by_name, card = _by_name(), of_model(name)
    number = int(count or 1)
    if card is not None and 1 <= number <= MOST:
        return Named(number, card)
    if card is not None:
        raise UsageError("unknown_gpu", f"--gpu takes 1 to {MOST} cards, not {number}", gpu=f"1x{card.name}")
    near = difflib.get_close_matches(_plain(name), by_name, n=3, cutoff=0.5)
    cards = list(dict.fromkeys(by_name[each].name for each in near))
    meant = (
        f"is {' or '.join(cards)} meant?"
        if cards
        else f"known are {', '.join(card.name for card in known())}"
    )
    first = {"gpu": f"{count or 1}x{cards[0]}"} if cards else {}
    raise UsageError("unknown_gpu", f"no GPU is known as {brief(name, 60)!r}: {meant}", **first)


def of_model(name: str) -> Card | None:
    """The kind of card of this name, in any spelling; also as nvidia-smi says it. None where it is not known."""
    return _by_name().get(_plain(name))


@cache
def _by_name() -> dict[str, Card]:
    return {_plain(name): card for card in known() for name in (card.name, *card.also)}


def holding(gib: float) -> Card | None:
    """The smallest card of at least so many GiB; None where there is none."""
    large = [card for card in known() if card.memory_mib >= gib * 1024]
    return min(large, key=lambda card: card.memory_mib, default=None)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower().removeprefix("nvidia"))
