"""Where on a line does each word stand, and what role does it play? Pure; no colours, no terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import Any, Literal

from orchestrator.on_host.secrets.secrets import redact

Style = Literal["", "strong", "dim", "good", "bad", "warn", "busy", "link", "added", "removed"]
Span = tuple[str, Style]
StyledLine = list[Span]

WIDTH = 80
WIDEST = 100
"""A time at the right edge of a wider line would be too far from what it belongs to."""
NAME = 10
SIGNS: Mapping[str, tuple[str, Style]] = {
    "started": ("..", "busy"),
    "ok": ("ok", "good"),
    "skipped": ("--", "dim"),
    "failed": ("!!", "bad"),
    "interrupted": ("^C", "warn"),
    "halted": ("--", "dim"),
}
_COLOUR = re.compile(r"\x1b\[[0-9;:]{0,60}m")
_ACTING = re.compile(
    "\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""What moves a cursor, turns the direction of writing, ends a line, or is not seen at all."""


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


def _written_out(sign: re.Match[str]) -> str:
    code = ord(sign[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def plain(line: StyledLine) -> str:
    return "".join(visible(text) for text, _ in line).rstrip()


def wrapped(
    head: StyledLine, text: str, width: int, *, role: Style = "", tail: StyledLine | None = None
) -> list[StyledLine]:
    """Text behind a head, broken at blanks, further lines indented below it; the tail ends the first line."""
    indent = sum(len(part) for part, _ in head)
    reserve = sum(len(part) for part, _ in tail) + 2 if tail else 0
    room = max(20, width - indent - reserve)
    first, *more = textwrap.wrap(
        visible(redact(text)), room, break_long_words=False, break_on_hyphens=False
    ) or [""]
    line: StyledLine = [*head, (first, role)]
    if tail:
        line += [(" " * max(2, width - indent - len(first) - reserve + 2), ""), *tail]
    return [line, *([(" " * indent, ""), (part, role)] for part in more)]


def step_head(state: str, name: str) -> StyledLine:
    sign, role = SIGNS[state]
    return [("  ", ""), (sign, role), ("  ", ""), (f"{name:<{NAME}}", "strong"), (" ", "")]


def prefix_of(host: str, several_hosts: bool) -> str:
    return f"[{host}] " if several_hosts and host else ""


def fraction(data: Mapping[str, Any]) -> float | None:
    """How much of the work is done, where an event's data says so."""
    total, done = data.get("total"), data.get("done", data.get("bytes"))
    if not total or done is None:
        return None
    return min(1.0, max(0.0, float(done) / float(total)))
