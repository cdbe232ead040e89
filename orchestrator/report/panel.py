"""How does a failure look to the person who has to understand it at 3 a.m.?"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.diagnosis.engine import Diagnosis
    from orchestrator.remedy.choose import Decision

WIDTH = 80
HEAD = 12
LONGEST_CAUSE = 700


def finding_panel(diagnosis: Diagnosis, decision: Decision, *, launch: int) -> str:
    """Root cause, why, remedy with its diff, and cost; fits on a screen and can be pasted."""
    lines: list[str] = []
    root = diagnosis.root_cause
    if root is not None:
        name = f"{root.exception}: " if root.exception and not root.text.startswith(root.exception) else ""
        cause = f"{name}{root.text}"
        shown = cause if len(cause) <= LONGEST_CAUSE else cause[:LONGEST_CAUSE] + " ..."
        others = len(diagnosis.folded.processes)
        same = f", same in {others + 1}" if others else ""
        where = f"({root.process or 'the launcher'}, launch {launch}, vllm.log:{root.line}{same})"
        lines += _row("root cause", f"{shown} {where}")
    if diagnosis.finding is not None:
        lines += _row("why", " ".join((diagnosis.finding.explanation or diagnosis.finding.title).split()))
    else:
        lines += _row("why", "no patch knows this failure; nothing was changed")
    if decision.change is not None:
        lines += _row("remedy", f"{decision.change.patch.id}: {decision.change.action} (reversible)")
        lines += [" " * (HEAD + 6) + line for line in decision.change.diff.splitlines()]
        lines += _row("cost", decision.cost)
    elif decision.reason:
        lines += _row("remedy", f"none: {decision.reason}")
    return "\n".join(["", *lines, ""])


def _row(head: str, text: str) -> list[str]:
    wrapped = textwrap.wrap(text, WIDTH - HEAD - 6, break_on_hyphens=False) or [""]
    first = f"      {head:<{HEAD}}{wrapped[0]}"
    return [first, *(" " * (HEAD + 6) + line for line in wrapped[1:])]
