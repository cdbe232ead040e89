"""How do events look to a person where nothing can be redrawn: appended lines of at most 80 columns."""

from __future__ import annotations

import textwrap
from typing import TextIO

from orchestrator.report.events import Event

WIDTH = 80
SIGNS = {"started": "..", "ok": "ok", "skipped": "--", "failed": "!!"}


def duration(seconds: float) -> str:
    """0.4s, 41s, 14m02s, 2h05m."""
    if seconds < 10:
        return f"{seconds:.1f}s"
    if seconds < 60:
        return f"{seconds:.0f}s"
    if seconds < 3600:
        return f"{int(seconds) // 60}m{int(seconds) % 60:02d}s"
    return f"{int(seconds) // 3600}h{int(seconds) % 3600 // 60:02d}m"


class PlainLines:
    """Writes one line a step and its progress; several hosts are told apart by a prefix."""

    def __init__(self, out: TextIO, *, several_hosts: bool = False) -> None:
        self._out = out
        self._several_hosts = several_hosts

    def show(self, event: Event) -> None:
        for line in self._lines(event):
            prefix = f"[{event.host}] " if self._several_hosts else ""
            self._out.write(f"{prefix}{line}".rstrip() + "\n")
        self._out.flush()

    def _lines(self, event: Event) -> list[str]:
        if event.kind == "step":
            return self._step(event)
        if event.kind == "progress":
            return wrap(f"  ..  {event.step:<10} ", event.text)
        if event.kind == "warning":
            return wrap("warning: ", event.text)
        return event.text.splitlines()

    def _step(self, event: Event) -> list[str]:
        state = event.data["state"]
        seconds = event.data.get("seconds")
        if state == "started" and not event.text:
            return []
        tail = f"  {duration(seconds)}" if seconds is not None and state != "skipped" else ""
        return wrap(f"  {SIGNS[state]}  {event.step:<10} ", event.text + tail)


def wrap(head: str, text: str) -> list[str]:
    """Text behind a head, broken at blanks to 80 columns, further lines indented below it."""
    lines = textwrap.wrap(text, WIDTH - len(head), break_long_words=False, break_on_hyphens=False) or [""]
    return [head + lines[0], *(" " * len(head) + line for line in lines[1:])]
