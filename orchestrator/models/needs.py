"""How many cards of which size does a model need, as far as its playbook's figures tell? Pure."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.checkpoint import architecture
from orchestrator.engines.sizing import Fit
from orchestrator.models.choose import CONTEXT, TENSOR, counts_for
from orchestrator.plan.fitting import Fitting
from orchestrator.plan.known import kv_dtype
from orchestrator.plan.resolve import requested
from orchestrator.playbook.playbook import Playbook
from orchestrator.playbook.shape import USEFUL_TOKENS
from orchestrator.survey.cards import Named, named
from orchestrator.survey.supposed import of_cards

MOST = 8
"""Cards in one host."""
_SIZES = {
    "RTX 4090": 24, "RTX 5090": 32, "L40S": 48, "H100": 80, "RTX PRO 6000": 96, "H200": 141, "B200": 180, "B300": 288,
}  # fmt: skip
"""A card of each usual size with the GB that are written on it, the smallest first."""


@dataclass(frozen=True)
class Need:
    """So many cards of at least so many GB, as it is written on them; one such card is named."""

    gpus: int
    gb: int
    card: str

    def as_json(self) -> dict[str, int | str]:
        return {"gpus": self.gpus, "gpu_memory_gb": self.gb, "gpu": self.card}


def needs(playbook: Playbook) -> tuple[Need, ...] | None:
    """For each number of cards of one host the smallest that do: where fewer of that size would do too, none is named.

    Judged for the weights and a useful context, by the release that takes least of a card. None where that is not known.
    """
    shape = architecture.read(playbook.figures.config)
    useful = min(shape.max_position_embeddings or USEFUL_TOKENS, USEFUL_TOKENS)
    wanted: list[Need] = []
    for count in counts_for(MOST, shape.heads):
        trial = playbook.completed({TENSOR: count, CONTEXT: useful})
        card, known = _smallest(trial, count, useful)
        if not known:
            return None
        if card is not None and card not in (need.card for need in wanted):
            wanted.append(Need(count, _SIZES[card], card))
    return tuple(wanted)


def _smallest(trial: Playbook, count: int, useful: int) -> tuple[str | None, bool]:
    """The first card of which so many hold a useful context, and whether it is known of any; no larger one is tried."""
    known = False
    for card in _SIZES:
        fit = _fit(trial, named(f"{count}x{card}"))
        known = known or fit.verdict != "unknown"
        if (fit.longest_context or 0) >= useful:
            return card, known
    return None, known


def _fit(playbook: Playbook, cards: Named) -> Fit:
    options = requested(playbook, python="python3", folder=playbook.folder)
    dtype = kv_dtype(playbook, {}, None, options)
    return Fitting(playbook, of_cards(playbook, cards), None, options, {}, dtype).at_once()
