"""When was a line of a log written, as the log says?"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice

from orchestrator.diagnosis.lines import read
from orchestrator.diagnosis.standstill import moment_of
from orchestrator.engines.log_grammar import LogGrammar

_BEFORE = 200
"""Lines before it of which the last one that has a time counts, where it has none itself."""


def written(log: Iterable[bytes], number: int, grammar: LogGrammar) -> float | None:
    """The time of the line of that number (1-based), in seconds since a moment that is the same for all logs of one year; None where no
    line near it has one."""
    before = deque(islice(log, number), maxlen=_BEFORE)
    times = [moment for line in read(before, grammar) if (moment := moment_of(line.time)) is not None]
    return times[-1].timestamp() if times else None
