"""How do the engines of a host look to a person?"""

from __future__ import annotations

from orchestrator.base.amounts import decimal
from orchestrator.programs.engines import EngineUse
from orchestrator.report.layout import StyledLine, visible, wrapped
from orchestrator.survey.engines import EngineOnHost, EnginesOnHost

NAME, SIZE = 22, 9
STATES = {"making": "is being made", "half_made": "half made: it counts for nobody, and may be removed"}


def engine_lines(there: EnginesOnHost, width: int) -> list[StyledLine]:
    """The room that is left, then a row an engine: its size and who uses it, and below it where it is."""
    ours = [engine for engine in there.engines if engine.ours]
    others = [engine for engine in there.engines if not engine.ours]
    count = f"{len(ours)} of our own, {len(others)} of others, {decimal(there.free_bytes)} free"
    lines: list[StyledLine] = [[(visible(there.host), "strong"), (f": {count}", "")]]
    for engine in (*ours, *others):
        lines += _row(engine, width)
    if there.unread:
        lines += wrapped([("  others     ", "dim")], f"not known: {there.unread}", width)
    return lines


def _row(engine: EngineOnHost, width: int) -> list[StyledLine]:
    name = visible(f"{engine.engine} {engine.version}")
    size = "" if engine.bytes is None else decimal(engine.bytes)
    head: StyledLine = [(f"  {name:<{NAME}} ", "strong"), (f"{size:>{SIZE}}  ", "")]
    used = ", ".join(map(user, engine.used_by))
    state = STATES.get(engine.state) or (f"used by {used}" if used else "used by no deployment")
    place = engine.folder if engine.ours else engine.python
    return [*wrapped(head, state, width), [(f"  {'':<{NAME}}  {visible(place)}", "dim")]]


def user(use: EngineUse) -> str:
    """A deployment and the launch of it that uses an engine."""
    lives = {True: ", runs", False: "", None: ", of another machine or release"}[use.alive]
    return f"{use.deployment} (launch {use.launch}{lives})"
