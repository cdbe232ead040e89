"""Which renderer suits the place that the events go to?"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Sequence
from typing import TextIO

from orchestrator.base.events import Display
from orchestrator.report.layout import WIDEST, WIDTH, StyledLine, plain

UNABLE = ("", "dumb", "unknown")
"""TERM of a terminal that cannot rewrite a line."""


def display(out: TextIO, *, as_json: bool, hosts: int = 1) -> Display:
    """JSON lines for programs, lines rewritten in place on a terminal, appended lines everywhere else.

    Of more `hosts` than a `FEW` it is shown how all of them stand, and the worst.
    """
    if as_json:
        from orchestrator.report.json_lines import JsonLines

        return JsonLines(out)
    _survive(out)
    from orchestrator.report.crowd import FEW, Crowd

    crowd = Crowd(hosts, time.monotonic) if hosts > FEW else None
    if on_terminal(out):
        from orchestrator.report.terminal import Terminal

        return Terminal(out, several_hosts=hosts > 1, crowd=crowd)
    from orchestrator.report.plain import PlainLines

    return PlainLines(out, several_hosts=hosts > 1, crowd=crowd)


def write(lines: Sequence[StyledLine], out: TextIO) -> None:
    """Laid-out lines, coloured where the place is a terminal that has colours."""
    _survive(out)
    if on_terminal(out):
        from orchestrator.report.terminal import ansi, console_for

        console = console_for(out)
        out.write("".join(ansi(console, line) + "\n" for line in lines))
    else:
        out.write("".join(plain(line) + "\n" for line in lines))
    out.flush()


def width_of(out: TextIO) -> int:
    """Columns to lay a table out for: the terminal's within reason, 80 elsewhere."""
    if not on_terminal(out):
        return WIDTH
    return max(40, min(shutil.get_terminal_size().columns, WIDEST))


def on_terminal(out: TextIO) -> bool:
    """Whether `out` is a terminal that can rewrite a line and may have colours."""
    return out.isatty() and os.environ.get("TERM", "") not in UNABLE


def _survive(out: TextIO) -> None:
    """A character that the place cannot show becomes a question mark, never an end of the deployment."""
    if out in (sys.stdout, sys.stderr) and hasattr(out, "reconfigure"):
        out.reconfigure(errors="replace")
