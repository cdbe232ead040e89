"""How do hosts stand that serve one model together? Pure: what is said of each of them in, one answer out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Told = Mapping[str, Any]
"""What `describe` says of a host, with its `role`; of one that could not be asked its `host`, `role` and `error`."""

UNASKED = "no answer"
_UP = {"healthy", "computing"}
_QUIET = {"never launched", "stopped"}


def group_status(name: str, playbook: str, hosts: Sequence[Told]) -> dict[str, Any]:
    """What `deploy status --as-one --json` prints.

    The group is healthy only where each rank's processes live and those that answer requests do: a server says 200 though
    a rank of another host is gone. `amiss` says what keeps it from that, a sentence a host.
    """
    states = {_state(host) for host in hosts}
    amiss = [] if states <= _QUIET else [words for host in hosts if (words := _amiss(host, _members(hosts)))]
    head = next((host for host in hosts if _state(host) == "healthy"), {})
    state = "not healthy" if amiss and len(states) > 1 else _together(states)
    return {
        "name": name,
        "playbook": playbook,
        "state": state,
        "amiss": [*amiss, *(_unnamed(hosts) if state not in _QUIET else ())],
        "health": head.get("health"),
        "models": head.get("models", []),
        "context": head.get("context"),
        "asked_context": head.get("asked_context"),
        "hosts": list(hosts),
    }


def _together(states: set[str]) -> str:
    if states <= _QUIET:
        return max(states)  # "stopped" where that is one of them
    if states <= _UP and "healthy" in states:
        return "healthy"
    return next(iter(states)) if len(states) == 1 and not states <= _UP else "starting"


def _state(host: Told) -> str:
    return UNASKED if "error" in host else str(host["state"])


def _amiss(host: Told, together: Sequence[str]) -> str:
    """What is not as it should be on a host; "" where all is well."""
    state, where = _state(host), f"{host['role']} on {host['host']}" if host["role"] else str(host["host"])
    if state in _UP or state == "starting":
        return "" if _members([host]) == together else f"{where} runs a launch of its own"
    ended = (
        "" if state == "stopped" or host.get("exit_code") is None else f", exit status {host['exit_code']}"
    )
    return f"{where}: {state}{ended}"


def _unnamed(hosts: Sequence[Told]) -> Iterator[str]:
    """That hosts serve with these which nobody has asked for: how they are is not known."""
    together, named = _members(hosts), [host["host"] for host in hosts]
    others = [name for name in together if name not in named]
    if len(together) > len(hosts):
        yield f"not looked at, as they are not named: {', '.join(others)}"


def _members(hosts: Sequence[Told]) -> Sequence[str]:
    """The names of the hosts with which the launch of the first serves that has one."""
    groups = (host["group"]["hosts"] for host in hosts if host.get("group"))
    return next(groups, ())
