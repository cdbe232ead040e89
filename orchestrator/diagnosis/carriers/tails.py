"""What does every line of a log end with that the engine did not write: the side of a box, a sign of its end?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from orchestrator.diagnosis.carriers.layer import Numbered
from orchestrator.engines.log_grammar import LogGrammar

_END = re.compile(r"(?:<br ?/?>|[\u2500-\u257f|$`\u00b6])$")
_EDGE = re.compile(r"\s*[\u250c-\u257f+][\s\u2500-\u257f+=-]*$")
_LEAST_SHARE = 0.95
_LEAST = 3


@dataclass(frozen=True)
class Tail:
    """Takes `end` off each line, with the blanks before it; the upper and the lower edge of a box say nothing."""

    end: str

    def peel(self, lines: Iterable[Numbered]) -> Iterator[Numbered]:
        for number, text in lines:
            inner = text.rstrip()
            yield Numbered(number, "" if _EDGE.match(inner) else inner.removesuffix(self.end).rstrip())


def learn(lines: Sequence[str], _grammar: LogGrammar) -> Tail | None:
    """What almost all lines end with, the edges of a box left out."""
    inner = [text for line in lines if (text := line.rstrip()) and not _EDGE.match(text)]
    ends = Counter(ending[0] for text in inner if (ending := _END.search(text)))
    end, count = ends.most_common(1)[0] if ends else ("", 0)
    return Tail(end) if count >= max(_LEAST, _LEAST_SHARE * len(inner)) else None
