"""How far does the host's clock differ from ours, and does anything keep it right?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.facts.source import Command, Fact, Output, Query, Unknown

_SCRIPT = r"""
echo "now=$(date +%s.%N)"
command -v timedatectl >/dev/null && echo "synchronised=$(timeout 5 timedatectl show -p NTPSynchronized --value)"
true
"""


@dataclass(frozen=True)
class Clock:
    """The host's clock, seconds."""

    epoch: float
    """When it was asked, by its own clock."""
    ahead: float | None
    """How much it is ahead of ours at least, negative where behind; 0 where the way there may explain all of it, None where
    nobody noted ours."""
    synchronised: bool | None
    """Whether systemd says that it is kept right; None where it does not say."""


def parse(output: Output, query: Query) -> Clock | Unknown:
    """The host's time lies between when it was asked and when it had answered, by a clock that agrees with ours."""
    now = re.search(r"^now=(\d{1,12}(?:\.\d{1,9})?)", output.out, re.MULTILINE)
    if not now:
        return Unknown("clock_unread", "the host tells no time (date)")
    epoch, ahead = float(now[1]), None
    if query.between is not None:
        began, ended = query.between
        ahead = max(0.0, epoch - ended) + min(0.0, epoch - began)
    kept = re.search(r"^synchronised=(yes|no)$", output.out, re.MULTILINE)
    return Clock(epoch, ahead, kept[1] == "yes" if kept else None)


FACT = Fact(
    "clock",
    lambda _: Command.sh(f"exec 2>/dev/null{_SCRIPT}", timeout=8),
    lambda output, query: output if isinstance(output, Unknown) else parse(output, query),
    Clock,
    by_line=True,
)
