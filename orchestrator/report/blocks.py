"""Which lines stay of an event, once what it tells of is over?"""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.base.amounts import duration
from orchestrator.base.events import Event
from orchestrator.report.layout import Style, StyledLine, prefix_of, step_head, visible, wrapped
from orchestrator.report.panel import panel_lines

UNFINISHED = {"interrupted": "interrupted", "halted": "left: another host did not go on"}
"""What is told of a step that nobody waited for to its end."""


def step_end(event: Event, width: int) -> list[StyledLine]:
    """The line that stays of a step: sign, name, what came of it, its time at the right."""
    state = str(event.data["state"])
    tail: StyledLine = [] if state == "skipped" else [(duration(event.data.get("seconds") or 0.0), "dim")]
    role: Style = "bad" if state == "failed" else ""
    text = event.text or UNFINISHED.get(state, "")
    return wrapped(step_head(state, event.step), text, width, role=role, tail=tail)


def finished(event: Event, width: int, *, several_hosts: bool) -> list[StyledLine]:
    """The lines that stay of an event; none while it only says what is under way.

    Of several hosts each line is told apart by a prefix. A plan, a finding and a result keep their 80 columns
    and stand as a block below their host's name, so that they can be pasted.
    """
    if event.kind in ("wait", "progress", "end") or event.data.get("state") == "started":
        return []
    prefix = prefix_of(event.host, several_hosts)
    room = width - len(prefix)
    lines = step_end(event, room) if event.kind == "step" else message(event, room)
    if not prefix:
        return lines
    if event.kind in ("finding", "result"):
        return [[(prefix, "dim")], *lines]
    return lines if event.kind == "plan" else [[(prefix, "dim"), *line] for line in lines]


def message(event: Event, width: int) -> list[StyledLine]:
    """Everything that is no step: plan, finding, note, warning, result."""
    if event.kind == "warning":
        return wrapped([("warning: ", "warn")], event.text, width)
    if event.kind == "finding" and "panel" in event.data:
        return panel_lines(event.data["panel"], event.data.get("diff") or "")
    lines = [visible(line) for line in event.text.split("\n")]
    if event.kind == "plan":
        return list(_labelled(lines, 13))
    if event.kind == "summary":
        return wrapped([], event.text, width, role="strong")
    if event.kind == "result":
        return [[], *_labelled(lines, 10)]
    return [[(line, "")] for line in lines]


def _labelled(lines: Iterable[str], column: int) -> Iterable[StyledLine]:
    """A first line that says it all, then lines with a label in front."""
    for number, line in enumerate(lines):
        if number == 0:
            first, gap, rest = line.partition("  ")
            role: Style = "good" if first == "healthy" else "strong"
            yield [(first, role), (gap + rest, "")]
        elif line.startswith("  "):
            yield [(line[:column], "dim"), (line[column:], "")]
        else:
            yield [(line, "")]
