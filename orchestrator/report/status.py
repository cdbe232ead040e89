"""How does the state of a deployment look to a person?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.base.amounts import beside, duration
from orchestrator.report.layout import Style, StyledLine, visible, wrapped
from orchestrator.report.panel import condensed

StatusAnswer = Mapping[str, Any]
LABEL = 11
ROLES: Mapping[str, Style] = {
    "healthy": "good",
    "computing": "good",
    "starting": "busy",
    "never launched": "dim",
    "stopped": "dim",
}


def table(state: StatusAnswer, width: int, *, whole: str = "") -> list[StyledLine]:
    """What `Reading.status` found: a row a subject, then the processes and the patches in force as tables.

    `whole` is the command that tells of all hosts with which this one serves.
    """
    name = f"{state['playbook']} on {state['host']}"
    now = str(state["state"])
    lines: list[StyledLine] = [[(name, "strong"), (": ", ""), (now, ROLES.get(now, "warn"))]]
    for label, text in _rows(state):
        lines += wrapped([(f"  {label:<{LABEL}}", "dim")], text, width)
    if whole:
        lines.append([(f"  {'all of it':<{LABEL}}", "dim"), (visible(whole), "strong")])
    lines += _processes(state["members"])
    return [*lines, *_patches(state["patches"], width)]


def group_table(state: StatusAnswer, width: int) -> list[StyledLine]:
    """What `Deployment.status` found of hosts that serve one model together: how it is, then a row a host."""
    hosts, now = state["hosts"], str(state["state"])
    head = f"{state['playbook']} on {len(hosts)} hosts"
    lines: list[StyledLine] = [[(head, "strong"), (": ", ""), (now, ROLES.get(now, "warn"))]]
    for words in state["amiss"]:
        lines += wrapped([(f"  {'amiss':<{LABEL}}", "warn")], words, width)
    if state["health"]:
        rows = [("health", f"{state['health']}, models: {', '.join(state['models']) or 'none'}")]
        if state["context"]:
            rows.append(("context", beside(state["context"], state["asked_context"])))
        for label, text in rows:
            lines += wrapped([(f"  {label:<{LABEL}}", "dim")], text, width)
    lines += [[], *_hosts(hosts, width)]
    return [*lines, *_patches(_common(hosts), width)]


def _hosts(hosts: Sequence[Mapping[str, Any]], width: int) -> list[StyledLine]:
    wide = max(len(visible(host["host"])) for host in hosts) + 2
    title = f"  {'host':<{wide}}{'role':<10}{'launch':>6}  {'processes':>9}{'memory':>12}  log"
    lines: list[StyledLine] = [[(title, "dim")]]
    for host in hosts:
        who = f"  {visible(host['host']):<{wide}}{host['role']:<10}"
        if "error" in host:
            lines += wrapped([(who, "")], host["error"]["message"], width, role="bad")
            continue
        members = host["members"]
        size = f"{sum(member['rss_bytes'] or 0 for member in members) / 2**20:,.0f} MiB" if members else ""
        silent = f"silent for {duration(host['log']['silent_seconds'])}" if host["log"] else "none"
        line = f"{who}{host['launch'] or '':>6}  {len(members):>9}{size:>12}  {silent}"
        lines.append([(line, "" if members else "warn")])
    return lines


def _common(hosts: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The patches in force, each once; of one that is not on all hosts where it is."""
    asked = [host for host in hosts if "error" not in host]
    rows: dict[str, dict[str, Any]] = {}
    for host in asked:
        for patch in host["patches"]:
            row = rows.setdefault(patch["patch"], {**patch, "on": []})
            row["on"].append(host["host"])
            row["confirmed"] = row["confirmed"] and patch["confirmed"]
    for row in rows.values():
        if len(row["on"]) < len(asked):
            row["files"] = [*row["files"], f"on {', '.join(row['on'])} alone"]
    return list(rows.values())


def _rows(state: StatusAnswer) -> list[tuple[str, str]]:
    rows = []
    if state["launch"] is not None:
        ended = "" if state["exit_code"] is None else f", exit status {state['exit_code']}"
        rows.append(("launch", f"{state['launch']}, started {_when(state['started_at'])}{ended}"))
        group = state["group"]
        if group:
            rows.append(
                ("group", f"{group['role']} of {len(group['hosts'])} hosts: {', '.join(group['hosts'])}")
            )
        serves = not group or group["serves"]
        if serves:
            models = ", ".join(state["models"]) or "none"
            rows.append(("health", f"{state['health'] or 'no answer'}, models: {models}"))
        if serves and state["context"]:
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
