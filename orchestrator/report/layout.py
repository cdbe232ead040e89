"""Where on a line does each word stand, and what role does it play? Pure; no colours, no terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from orchestrator.on_host.secrets import redact
from orchestrator.report.events import Event

Role = Literal["", "strong", "dim", "good", "bad", "warn", "busy", "link", "added", "removed"]
Span = tuple[str, Role]
Line = list[Span]

WIDTH = 80
WIDEST = 100
"""A time at the right edge of a wider line would be too far from what it belongs to."""
NAME = 10
SIGNS: Mapping[str, tuple[str, Role]] = {
    "started": ("..", "busy"),
    "ok": ("ok", "good"),
    "skipped": ("--", "dim"),
    "failed": ("!!", "bad"),
    "interrupted": ("^C", "warn"),
}
_COLOUR = re.compile(r"\x1b\[[0-9;:]{0,60}m")
_ACTING = re.compile(
    "\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""What moves a cursor, turns the direction of writing, ends a line, or is not seen at all."""


def duration(seconds: float) -> str:
    """0.4s, 41s, 14m02s, 2h05m."""
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    if seconds < 60:
        return f"{int(seconds)}s"
    if seconds < 3600:
        return f"{int(seconds) // 60}m{int(seconds) % 60:02d}s"
    return f"{int(seconds) // 3600}h{int(seconds) % 3600 // 60:02d}m"


def rounded(seconds: float) -> str:
    """A limit or an estimate, which nobody knows to the tenth: 41s, 30m, 1h05m."""
    shown = duration(max(10.0, seconds)) if seconds >= 10 else f"{max(0, int(seconds))}s"
    return re.sub(r"(?<=m)00s$", "", shown)


def decimal(count: int) -> str:
    """Bytes in the decimal units that the Hub uses: 591 GB."""
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def visible(text: str) -> str:
    """Text of others as it can be shown anywhere: what would act on a terminal is written out (\\x1b, \\u202e).

    Line ends stay; colours, which an engine gives its log, are left out.
    """
    return _inert(text).expandtabs(4)


def passage(text: str) -> str:
    """A text of several lines that is not laid out, such as a file or a diff: without secrets, its tabs as they are."""
    return _inert(redact(text))


def _inert(text: str) -> str:
    return _ACTING.sub(_written_out, _COLOUR.sub("", text))


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def plain(line: Line) -> str:
    return "".join(visible(text) for text, _ in line).rstrip()


def wrapped(head: Line, text: str, width: int, *, role: Role = "", tail: Line | None = None) -> list[Line]:
    """Text behind a head, broken at blanks, further lines indented below it; the tail ends the first line."""
    indent = sum(len(part) for part, _ in head)
    reserve = sum(len(part) for part, _ in tail) + 2 if tail else 0
    room = max(20, width - indent - reserve)
    first, *more = textwrap.wrap(
        visible(redact(text)), room, break_long_words=False, break_on_hyphens=False
    ) or [""]
    line: Line = [*head, (first, role)]
    if tail:
        line += [(" " * max(2, width - indent - len(first) - reserve + 2), ""), *tail]
    return [line, *([(" " * indent, ""), (part, role)] for part in more)]


def step_head(state: str, name: str) -> Line:
    sign, role = SIGNS[state]
    return [("  ", ""), (sign, role), ("  ", ""), (f"{name:<{NAME}}", "strong"), (" ", "")]


def step_end(event: Event, width: int) -> list[Line]:
    """The line that stays of a step: sign, name, what came of it, its time at the right."""
    state = str(event.data["state"])
    tail: Line = [] if state == "skipped" else [(duration(event.data.get("seconds") or 0.0), "dim")]
    role: Role = "bad" if state == "failed" else ""
    text = event.text or ("interrupted" if state == "interrupted" else "")
    return wrapped(step_head(state, event.step), text, width, role=role, tail=tail)


def prefix_of(host: str, several_hosts: bool) -> str:
    return f"[{host}] " if several_hosts else ""


def finished(event: Event, width: int, *, several_hosts: bool) -> list[Line]:
    """The lines that stay of an event; none while it only says what is under way.

    Of several hosts each line is told apart by a prefix. A plan, a finding and a result keep their 80 columns
    and stand as a block below their host's name, so that they can be pasted.
    """
    if event.kind in ("wait", "progress") or event.data.get("state") == "started":
        return []
    prefix = prefix_of(event.host, several_hosts)
    room = width - len(prefix)
    lines = step_end(event, room) if event.kind == "step" else message(event, room)
    if not prefix:
        return lines
    if event.kind in ("finding", "result"):
        return [[(prefix, "dim")], *lines]
    return lines if event.kind == "plan" else [[(prefix, "dim"), *line] for line in lines]


def message(event: Event, width: int) -> list[Line]:
    """Everything that is no step: plan, finding, note, warning, result."""
    if event.kind == "warning":
        return wrapped([("warning: ", "warn")], event.text, width)
    if event.kind == "finding" and "panel" in event.data:
        from orchestrator.report.panel import panel_lines

        return panel_lines(event.data["panel"], event.data.get("diff") or "")
    lines = [visible(line) for line in event.text.split("\n")]
    if event.kind == "plan":
        return list(_labelled(lines, 13))
    if event.kind == "result":
        return [[], *_labelled(lines, 10)]
    return [[(line, "")] for line in lines]


def _labelled(lines: Iterable[str], column: int) -> Iterable[Line]:
    """A first line that says it all, then lines with a label in front."""
    for number, line in enumerate(lines):
        if number == 0:
            first, gap, rest = line.partition("  ")
            role: Role = "good" if first == "healthy" else "strong"
            yield [(first, role), (gap + rest, "")]
        elif line.startswith("  "):
            yield [(line[:column], "dim"), (line[column:], "")]
        else:
            yield [(line, "")]


def fraction(data: Mapping[str, Any]) -> float | None:
    """How much of the work is done, where an event's data says so."""
    total, done = data.get("total"), data.get("done", data.get("bytes"))
    if not total or done is None:
        return None
    return min(1.0, max(0.0, float(done) / float(total)))


def bracketed(address: str) -> str:
    """An address as a URL wants it: IPv6 in brackets."""
    return f"[{address}]" if ":" in address and not address.startswith("[") else address
