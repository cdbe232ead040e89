"""Does a log that does not tell how its server came up end as that of one which serves?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from orchestrator.diagnosis.lines import Line

if TYPE_CHECKING:
    from orchestrator.diagnosis.launches import LaunchLog

_ANSWERED = re.compile(r'HTTP/\d(?:\.\d)?" (?P<status>\d{3})\b')


class Served(NamedTuple):
    """What its last requests came to, and the last line that shows it."""

    state: Literal["serves", "fails"]
    line: Line


def shown(launch: LaunchLog) -> Served | None:
    """Of a server whose start the log does not show; None where nothing shows that one answers.

    The engine's own figures of its work, or answers. A server refuses wrong requests and is well; one that answers each
    with a fault of its own is not. What only asks whether it lives counts where nobody asked for more.
    """
    startup, pulse = launch.startup, launch.grammar.pulse
    if startup.up_line is not None:
        return None
    lines = [line for line in launch.end if line.number > startup.phase.line]
    works = [line for line in lines if line.level is not None and pulse.serves.search(line.message)]
    # what tells of a start behind answers is a client's; answers behind a start may be another program's
    other_programs = startup.begun and not startup.clients and startup.phase.name != "starting server"
    answers = [line for line in lines if line.hearsay and _ANSWERED.search(line.message)]
    if other_programs or not answers:
        return Served("serves", works[-1]) if works else None
    wanted = [line for line in answers if not pulse.asked.search(line.message)] or answers
    well = [line for line in wanted if not _status(line).startswith("5")]
    return Served("serves", well[-1]) if well else Served("fails", wanted[-1])


def _status(line: Line) -> str:
    answered = _ANSWERED.search(line.message)
    return answered["status"] if answered else ""
