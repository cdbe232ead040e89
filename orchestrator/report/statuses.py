"""How do the deployments on many hosts stand: a line each, the worst first?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone

from orchestrator.base.amounts import beside, duration
from orchestrator.report.layout import StyledLine, visible
from orchestrator.report.outcomes import HostEnd, in_groups
from orchestrator.report.panel import condensed
from orchestrator.report.status import ROLES, StatusAnswer

ORDER = (
    "dead, orphans alive", "dead", "running, not healthy", "starting", "stopped", "never launched", "computing", "healthy",
)  # fmt: skip
"""Of states, from what needs somebody to what needs nobody; hosts that gave none come first."""
WIDEST_HOST = 30


def table(states: Mapping[str, StatusAnswer], outcomes: Sequence[HostEnd], width: int) -> list[StyledLine]:
    """What is said of each host by its state, or by why there is none; `width` in columns, which no line passes."""
    ends = [
        outcome
        if outcome.host not in states
        else HostEnd(outcome.host, 0, str(states[outcome.host]["state"]))
        for outcome in outcomes
    ]
    ends.sort(key=_rank)
    host = min(WIDEST_HOST, max(len("host"), *(len(visible(end.host)) for end in ends))) + 2
    state = max(len("state"), *(len(end.word) for end in ends)) + 2
    lines: list[StyledLine] = [
        [(f"{len(ends)} hosts: {in_groups(ends, named=False)}", "strong")],
        [(f"  {'host':<{host}}{'state':<{state}}{'launch':<8}{'age':<9}", "dim")],
    ]
    for end in ends:
        answer = states.get(end.host)
        launch = "" if answer is None or answer["launch"] is None else str(answer["launch"])
        age = _age(answer["started_at"]) if answer else ""
        room = width - 2 - host - state - 8 - 9
        role = ROLES.get(end.word, "warn" if answer else "bad")
        lines.append(
            [
                (f"  {_cut(visible(end.host), host - 2):<{host}}", ""),
                (f"{end.word:<{state}}", role),
                (f"{launch:<8}{age:<9}", ""),
                (_cut(visible(_more(answer) if answer else end.why), room), "dim"),
            ]
        )
    return lines


def _rank(end: HostEnd) -> tuple[int, str]:
    return (ORDER.index(end.word) if end.word in ORDER else -1, end.word)


def _more(answer: StatusAnswer) -> str:
    """Why it is not up, or with how large a context it is."""
    outcome = answer["outcome"]
    if answer["state"] not in ("healthy", "computing") and outcome and outcome["cause"]:
        return condensed(outcome["cause"])
    return f"context {beside(answer['context'], answer['asked_context'])}" if answer["context"] else ""


def _age(started_at: str | None) -> str:
    """Since a launch was started, by this machine's clock; "" where that is not known."""
    if not started_at:
        return ""
    try:
        began = datetime.fromisoformat(started_at.replace("Z", "+00:00"))
    except ValueError:
        return ""
    began = began if began.tzinfo else began.replace(tzinfo=timezone.utc)
    return duration(max(0.0, (datetime.now(timezone.utc) - began).total_seconds()))


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: max(0, room - 3)].rstrip() + "..."
