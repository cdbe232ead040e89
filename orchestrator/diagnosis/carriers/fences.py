"""Which part of a report is the log, where somebody has fenced it?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from orchestrator.diagnosis.carriers import anchors
from orchestrator.diagnosis.carriers.layer import Numbered
from orchestrator.engines.log_grammar import LogGrammar

_FENCE = re.compile(r"\s*(?:```|~~~)\s*[\w+-]*\s*$")


@dataclass(frozen=True)
class Fences:
    """Keeps what stands between two fences; the rest is what a person wrote about it."""

    def peel(self, lines: Iterable[Numbered]) -> Iterator[Numbered]:
        inside = False
        for number, text in lines:
            fence = _FENCE.match(text) is not None
            inside = inside != fence
            yield Numbered(number, text if inside and not fence else "")


def learn(lines: Sequence[str], grammar: LogGrammar) -> Fences | None:
    """Whether all that shows an engine stands between fences."""
    inside, fenced = False, 0
    known = anchors.of(grammar)
    for text in lines:
        if _FENCE.match(text):
            inside = not inside
        elif known.start(text) >= 0:
            if not inside:
                return None
            fenced += 1
    return Fences() if fenced else None
