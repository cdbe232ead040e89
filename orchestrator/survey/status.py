"""What is said of a deployment to whoever asks how it is?"""

from __future__ import annotations

from typing import Any

from orchestrator.base.amounts import fewest
from orchestrator.engines.options import Context
from orchestrator.playbook.playbook import Playbook
from orchestrator.survey.journal import History
from orchestrator.survey.membership import membership
from orchestrator.survey.observed import Observed


def describe(host: str, playbook: Playbook, observed: Observed, history: History) -> dict[str, Any]:
    """What `deploy status --json` prints."""
    outcome = history.outcome
    group = membership(observed.command)
    return {
        "host": host,
        "playbook": playbook.name,
        "name": playbook.instance,
        "state": _state(playbook, observed, history),
        "group": group and {**group.as_json(), "role": group.role},
        "launch": observed.launch,
        "started_at": observed.started_at,
        "exit_code": observed.exit_code,
        "members": [member.as_json() for member in observed.members],
        "health": observed.health,
        "models": list(observed.models),
        "context": fewest(observed.context, _recorded(observed, history)),
        "asked_context": _asked(observed),
        "listener": observed.listener.as_json() if observed.listener else None,
        "shm": observed.shm.as_json(),
        "log": observed.log.as_json() if observed.log else None,
        "attempts": history.attempts,
        "outcome": {"launch": outcome.launch, "result": outcome.result, "cause": outcome.cause}
        if outcome
        else None,
        "patches": [
            {
                "patch": applied.patch,
                "confirmed": applied.confirmed,
                "files": [file.name for file in applied.files],
            }
            for applied in history.applied
        ],
    }


def _recorded(observed: Observed, history: History) -> int | None:
    """The context that the launch which answers is on record with: its log may have known better than its server does."""
    outcome = history.outcome
    return outcome.context if observed.context and outcome and outcome.launch == observed.launch else None


def _asked(observed: Observed) -> Context | None:
    """The context that a person asked this launch for, as its record says."""
    asked = ((observed.command or {}).get("note") or {}).get("context")
    return asked if type(asked) is int or asked == "auto" else None


def _state(playbook: Playbook, observed: Observed, history: History) -> str:
    group = membership(observed.command)
    serves = playbook.serves and (group is None or group.serves)
    if observed.launch is None:
        return "never launched"
    if observed.serves:
        return "healthy"
    if observed.alive and not serves and history.outcome is not None:
        return "computing"
    if observed.alive:
        return "starting" if history.outcome is None else "running, not healthy"
    if observed.members:
        return "dead, orphans alive"
    outcome = history.outcome
    return "stopped" if outcome and outcome.result == "stopped" and not outcome.halfway else "dead"
