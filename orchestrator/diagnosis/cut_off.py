"""What do the frames of a traceback tell whose exception is missing?

A log that was cut, or of which only some lines were kept, often ends inside one. That it failed there is sure; why,
the missing line says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from orchestrator.diagnosis.incident import Frame, Incident, IncidentKind, Raised
from orchestrator.diagnosis.lines import Line
from orchestrator.engines.log_grammar import Doing, Failures, LogGrammar

if TYPE_CHECKING:
    from orchestrator.diagnosis.tracebacks import Traceback

_INSTALLED = re.compile(r"^.*/(?:site|dist)-packages/")
REFUSED = "usage"
"""Stands for the heading of such a refusal."""
_ELSEWHERE = "The line that says why is not in this log. Get it out of the whole one:"
_PLAIN = re.compile(r"[\w-]{1,40}")
"""A name out of a log that may stand in a command which somebody pastes."""
_ROOM = 60
"""Letters of a path that are told."""


def raised(traceback: Traceback) -> Raised:
    """What stands for the exception: where it was raised, and what was being done there."""
    frames = traceback.passed
    if not frames:
        text = "a traceback of which only the first line is left: its exception is missing"
        return Raised(None, text, traceback.line.number, role="cascade")
    doing = _doing(frames, traceback.failures)
    where = f"in {frames[-1].function or 'the main program'} ({_short(frames[-1].file)}:{frames[-1].line})"
    words = f"{doing.words}, " if doing else ""
    text = f"a traceback cut off before its exception: {words}{where}"
    return Raised(None, text, traceback.message_line, frames, role="cascade")


def refusal(usage: Line) -> Raised:
    """What stands for the reason why a command line was refused, where only the program's usage is left."""
    text = "the command line was refused: the program said how it is called, and the reason behind that is missing"
    return Raised(None, text, usage.number, role="cascade")


def kind(traceback: Traceback) -> IncidentKind:
    """What kind of incident it is: one that waited for another process would only have told that this one failed."""
    doing = _doing(traceback.passed, traceback.failures)
    return "exception" if doing is not None and doing.waits else "cut"


def to_fetch(incident: Incident, grammar: LogGrammar) -> str:
    """How a person gets the missing line out of the whole log; the command stands on a line of its own."""
    if incident.title == REFUSED:
        return f"{_ELSEWHERE}\ngrep -nE 'error: ' *.log"
    # what waits or wraps, waits for one of these
    whose = grammar.processes.children if incident.kind != "cut" else (incident.process or "",)
    names = "|".join(name for name in whose if _PLAIN.fullmatch(name))
    by = f"({names}).*" if "|" in names else f"{names}.*" if names else "[A-Za-z]"
    return f"{_ELSEWHERE}\ngrep -nE '{by}(Error|Exception)' *.log"


def _doing(frames: Sequence[Frame], failures: Failures) -> Doing | None:
    """What the innermost frame of which it is known was doing."""
    for frame in reversed(frames):
        place = f"{frame.file}:{frame.function}"
        for doing in failures.doings:
            if doing.frame.search(place):
                return doing
    return None


def _short(path: str) -> str:
    """A source file as its package has it; of a long one the end."""
    inside = _INSTALLED.sub("", path)
    return inside if len(inside) <= _ROOM else f"...{inside[-_ROOM:]}"
