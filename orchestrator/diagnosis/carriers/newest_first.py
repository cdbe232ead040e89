"""Does a log stand with its newest line first, and how does it read the other way?

Stores of logs (Loki, CloudWatch, Kibana, Datadog) give what they hold so. Told by the times of the engine's own records.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice, pairwise

from orchestrator.diagnosis.carriers.peel import LONGEST
from orchestrator.diagnosis.lines import cut, parse
from orchestrator.engines.log_grammar import LogGrammar

_LEAST = 3
"""Steps back in time without which nothing is said."""
_OFTEN = 4
"""So many times as often back as forth: processes do not write quite in order."""
_LOOKED_AT = 400
"""Lines of the beginning."""
MOST_BYTES = 256 << 20
"""Of a log that is turned: it is held in memory for that."""


class Turned:
    """A log from its last line to its first; `line_of` tells of its lines which ones of the file they were."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        lines = list(cut(chunks, LONGEST))
        self._count = len(lines)
        self.whole = b"".join(line + b"\n" for line in reversed(lines))

    def line_of(self, number: int) -> int:
        """The line of the file that is the one of that number here (1-based both)."""
        return self._count + 1 - number


def is_newest_first(beginning: bytes, grammar: LogGrammar) -> bool:
    """Whether a log that begins so, without its carrier, goes back in time."""
    read = (parse(raw, number, grammar) for number, raw in enumerate(islice(cut([beginning]), _LOOKED_AT), 1))
    times = [line.time for line in read if line.time and line.level is not None]
    steps = [(earlier, later) for earlier, later in pairwise(times) if earlier != later]
    back = sum(later < earlier for earlier, later in steps)
    return back >= _LEAST and back >= _OFTEN * (len(steps) - back)
