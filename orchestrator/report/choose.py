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


def display(out: TextIO, *, as_json: bool, hosts: int = 1, as_one: bool = False) -> Display:
    """JSON lines for programs, lines rewritten in place on a terminal, appended lines everywhere else.

    Of more `hosts` than a `FEW` it is shown how all of them stand, and the worst; of those that serve `as_one` each has its lines,
    and what all of them did is one.
    """
    if as_json:
        from orchestrator.report.json_lines import JsonLines

        return JsonLines(out)
    _survive(out)
    from orchestrator.report.crowd import FEW, Crowd
    from orchestrator.report.same_steps import SameSteps

    crowd = Crowd(hosts, time.monotonic) if hosts > FEW and not as_one else None
    same_steps = SameSteps(hosts, time.monotonic) if as_one else None
    if on_terminal(out):
        from orchestrator.report.terminal import Terminal

        return Terminal(out, several_hosts=hosts > 1, crowd=crowd, same_steps=same_steps)
    from orchestrator.report.plain import PlainLines

    return PlainLines(out, several_hosts=hosts > 1, crowd=crowd, same_steps=same_steps)


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
