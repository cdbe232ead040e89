"""Does the end of a log only repeat itself, and for how long has it done so?

A launch that hangs need not be silent: a process polls and says so, a server counts that nothing was generated.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from orchestrator.diagnosis.lines import Line
from orchestrator.engines.log_grammar import Pulse

TAIL_LINES = 200
"""Lines at the end of a log that are looked at."""
_WITH_YEAR = re.compile(r"\d{4}-(\d\d-\d\d)[ T](\d\d:\d\d:\d\d)")
_REPEATED = 4
"""How often a line must be among them, word for word, to be a heartbeat."""


@dataclass(frozen=True)
class Standstill:
    """For how many seconds there were heartbeats alone; `stuck` where they say that requests get no tokens."""

    seconds: float = 0.0
    stuck: bool = False


def standstill(tail: Sequence[Line], progress: Callable[[str], bool], pulse: Pulse) -> Standstill:
    """What the last lines of a log come to; `progress` says whether a message shows that something went on."""
    lines = [line for line in tail[-TAIL_LINES:] if line.message.strip()]
    times_written = Counter(line.message for line in lines)
    beats: list[Line] = []
    for line in reversed(lines):
        repeated = times_written[line.message] >= _REPEATED and not progress(line.message)
        if not repeated and not pulse.asked.search(line.message):
            break
        beats.append(line)
    times = [moment for line in beats if (moment := moment_of(line.time)) is not None]
    if not times:
        return Standstill()
    running = [
        int(match["running"])
        for line in beats
        if line.level is not None and not line.hearsay and (match := pulse.idle.search(line.message))
    ]
    seconds = (times[0] - times[-1]).total_seconds()
    return Standstill(max(0.0, seconds), bool(running) and min(running) > 0)


def moment_of(time: str | None) -> datetime | None:
    """Times of a log have no year, but for records that are JSON; a leap year knows every day."""
    whole = _WITH_YEAR.match(time) if time else None
    time = f"{whole[1]} {whole[2]}" if whole else time
    try:
        return datetime.strptime(f"2024-{time} +0000", "%Y-%m-%d %H:%M:%S %z") if time else None
    except ValueError:
        return None
