"""How does the state of a deployment look to a person?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.base.amounts import beside, duration
from orchestrator.report.layout import Style, StyledLine, visible, wrapped
from orchestrator.report.panel import condensed

StatusAnswer = Mapping[str, Any]
LABEL = 11
ROLES: Mapping[str, Style] = {
    "healthy": "good",
    "starting": "busy",
    "never launched": "dim",
    "stopped": "dim",
}


def table(state: StatusAnswer, width: int) -> list[StyledLine]:
    """What `Deployment.status` found: a row a subject, then the processes and the patches in force as tables."""
    name = f"{state['playbook']} on {state['host']}"
    now = str(state["state"])
    lines: list[StyledLine] = [[(name, "strong"), (": ", ""), (now, ROLES.get(now, "warn"))]]
    for label, text in _rows(state):
        lines += wrapped([(f"  {label:<{LABEL}}", "dim")], text, width)
    lines += _processes(state["members"])
    return [*lines, *_patches(state["patches"], width)]


def _rows(state: StatusAnswer) -> list[tuple[str, str]]:
    rows = []
    if state["launch"] is not None:
        ended = "" if state["exit_code"] is None else f", exit status {state['exit_code']}"
        rows.append(("launch", f"{state['launch']}, started {_when(state['started_at'])}{ended}"))
        models = ", ".join(state["models"]) or "none"
        rows.append(("health", f"{state['health'] or 'no answer'}, models: {models}"))
        if state["context"]:
            rows.append(("context", beside(state["context"], state["asked_context"])))
    if outcome := state["outcome"]:
        cause = condensed(outcome["cause"])
        rows.append(("outcome", f"{outcome['result']}{': ' if cause else ''}{cause}"))
    if log := state["log"]:
        rows.append(("log", f"{log['path']}, silent for {duration(log['silent_seconds'])}"))
    if state["shm"]["entries"]:
        size = state["shm"]["bytes"] / 2**20
        rows.append(("shm", f"{state['shm']['entries']} files of its own, {size:,.0f} MiB"))
    return rows


def _processes(members: list[Mapping[str, Any]]) -> list[StyledLine]:
    if not members:
        return []
    lines: list[StyledLine] = [[], [(f"  {'pid':>8}  {'memory':>12}  process", "dim")]]
    for process in members:
        size = f"{(process['rss_bytes'] or 0) / 2**20:,.0f} MiB"
        lines.append([(f"  {process['pid']:>8}  {size:>12}  {visible(str(process['name']))}", "")])
    return lines


def _patches(patches: list[Mapping[str, Any]], width: int) -> list[StyledLine]:
    if not patches:
        return []
    lines: list[StyledLine] = [[], [(f"  {'patch in force':<24}{'proven':<9}changed", "dim")]]
    for patch in patches:
        proven = "yes" if patch["confirmed"] else "not yet"
        head: StyledLine = [(f"  {visible(str(patch['patch'])):<24}{proven:<9}", "")]
        lines += wrapped(head, ", ".join(patch["files"]) or "options only", width)
    return lines


def _when(at: str | None) -> str:
    return f"{str(at)[:19].replace('T', ' ')} UTC" if at else "at an unknown time"
