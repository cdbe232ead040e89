"""At which width did a screen or a mail break the lines of a log, and which of them go on?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from orchestrator.diagnosis.carriers import anchors
from orchestrator.diagnosis.carriers.layer import Numbered
from orchestrator.diagnosis.lines import LONGEST
from orchestrator.engines.log_grammar import LogGrammar

_WIDTHS = range(60, 241)
_USUAL = 80
_LEAST = 3
_SIDES = ("│", "┃", "|", "║", "┐", "┘")
_BOXED = 0.6
"""Of the full lines, which end so where all of them stand in a box."""


@dataclass(frozen=True)
class Wrapped:
    """Joins a line that is `width` signs long with the next one, unless that one begins as a line of its own does."""

    width: int

    def peel(self, lines: Iterable[Numbered]) -> Iterator[Numbered]:
        held: Numbered | None = None
        full = False
        for line in lines:
            if held is not None and full and not anchors.opens(line.text):
                held = Numbered(held.number, (held.text + line.text)[:LONGEST])
            else:
                if held is not None:
                    yield held
                held = line
            full = len(line.text) == self.width
        if held is not None:
            yield held


def learn(lines: Sequence[str], _grammar: LogGrammar) -> Wrapped | None:
    """The width at which lines were broken: none is longer, and what follows a full one mostly begins no line."""
    width = max(map(len, lines), default=0)
    if width not in _WIDTHS:
        return None
    full = [text for text in lines if len(text) == width]
    if sum(text.endswith(_SIDES) for text in full) >= _BOXED * len(full):
        return None
    after = [(text, following) for text, following in pairwise(lines) if len(text) == width]
    going_on = [text for text, following in after if _goes_on(text, following)]
    enough = len(going_on) >= (1 if width == _USUAL else _LEAST) and 2 * len(going_on) > len(after)
    return Wrapped(width) if enough else None


def _goes_on(text: str, following: str) -> bool:
    """Whether a line may be the rest of the one above: what stands before every line stands before none that was broken."""
    return bool(following.strip()) and following[:2] != text[:2] and not anchors.opens(following)
