"""Between which words did a mail or `fold -s` break the lines of a log?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from orchestrator.diagnosis.carriers import anchors
from orchestrator.diagnosis.carriers.anchors import Anchors
from orchestrator.diagnosis.carriers.layer import Numbered
from orchestrator.diagnosis.lines import LONGEST
from orchestrator.engines.log_grammar import LogGrammar

_WIDTHS = range(60, 141)
_LEAST = 3
_ALIKE = 4
_LEAST_SHARE = 0.5


@dataclass(frozen=True)
class Unfolded:
    """Joins a line with the next one where that one's first word had no room any more on `width` signs."""

    width: int
    known: Anchors

    def peel(self, lines: Iterable[Numbered]) -> Iterator[Numbered]:
        held: Numbered | None = None
        last = ""
        for line in lines:
            if (
                held
                and _may_go_on(held.text, line.text, self.known)
                and _had_no_room(last, line.text, self.width)
            ):
                joined = held.text + self._between(last, line.text) + line.text
                held = Numbered(held.number, joined[:LONGEST])
            else:
                if held is not None:
                    yield held
                held = line
            last = line.text
        if held is not None:
            yield held

    def _between(self, text: str, following: str) -> str:
        """The blank that was lost, where no word was broken that is longer than a line."""
        word = text.rpartition(" ")[2] + following.partition(" ")[0]
        broken = len(text) == self.width and len(word) > self.width
        return "" if broken or text.endswith(" ") else " "


def learn(lines: Sequence[str], grammar: LogGrammar) -> Unfolded | None:
    """The width at which lines were folded: whatever begins no line of its own had no room on the one above."""
    width = max((len(text.rstrip()) for text in lines), default=0)
    if width not in _WIDTHS:
        return None
    known = anchors.of(grammar)
    rests = [pair for pair in pairwise(lines) if pair[0] and _may_go_on(*pair, known)]
    short = [pair for pair in rests if len(pair[0].rstrip()) < width]
    full = sum(len(text) == width for text in lines)  # a screen breaks all of them at its width
    folded = sum(_had_no_room(text, following, width) for text, following in short)
    enough = folded >= max(_LEAST, _LEAST_SHARE * len(short)) and folded > full
    return Unfolded(width, known) if enough else None


def _may_go_on(text: str, following: str, known: Anchors) -> bool:
    """Whether a line may be the rest of another: what stands before every line stands before no rest."""
    if not following or following[0].isspace() or known.begins(following):
        return False
    return following[:_ALIKE] != text[:_ALIKE]


def _had_no_room(text: str, following: str, width: int) -> bool:
    return len(text.rstrip()) + 1 + len(following.partition(" ")[0]) >= width
