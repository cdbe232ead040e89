"""At which width did a screen break the lines of a log, and which of them go on?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from orchestrator.diagnosis.carriers import anchors
from orchestrator.diagnosis.carriers.anchors import Anchors
from orchestrator.diagnosis.carriers.layer import Numbered
from orchestrator.diagnosis.lines import LONGEST
from orchestrator.engines.log_grammar import LogGrammar

_WIDTHS = range(60, 241)
_USUAL = (70, 72, 76, 78, 79, 80, 100, 120, 132)
"""At which one broken line is enough."""
_LEAST = 3


@dataclass(frozen=True)
class Wrapped:
    """Joins a line that is `width` signs long with the next one, unless that one begins as a line of its own does."""

    width: int
    known: Anchors

    def peel(self, lines: Iterable[Numbered]) -> Iterator[Numbered]:
        held: Numbered | None = None
        full = False
        for line in lines:
            if held is not None and full and not self.known.opens(line.text):
                held = Numbered(held.number, (held.text + line.text)[:LONGEST])
            else:
                if held is not None:
                    yield held
                held = line
            full = len(line.text) == self.width
        if held is not None:
            yield held


def learn(lines: Sequence[str], grammar: LogGrammar) -> Wrapped | None:
    """The width at which lines were broken: none is longer, and what follows a full one mostly begins no line."""
    width = max(map(len, lines), default=0)
    if width not in _WIDTHS:
        return None
    known = anchors.of(grammar)
    after = [(text, following) for text, following in pairwise(lines) if len(text) == width]
    going_on = [text for text, following in after if _goes_on(text, following, known)]
    mostly = 2 * len(going_on) > len(after) and len(going_on) >= _LEAST
    enough = mostly or (width in _USUAL and 0 < len(going_on) == len(after))
    return Wrapped(width, known) if enough else None


def _goes_on(text: str, following: str, known: Anchors) -> bool:
    """Whether a line may be the rest of the one above: what stands before every line stands before none that was broken."""
    return bool(following.strip()) and following[:2] != text[:2] and not known.opens(following)
