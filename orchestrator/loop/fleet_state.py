"""How is a fleet now: its router, and each of its replicas?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from orchestrator.base.errors import DeployError
from orchestrator.loop.balancer import Listed, in_flight
from orchestrator.loop.fleet import FleetMember
from orchestrator.loop.routing import Routing
from orchestrator.loop.side_by_side import side_by_side
from orchestrator.report.fleet import replica_json


def state_of(
    fleet: str,
    members: Sequence[FleetMember],
    routing: Routing | None,
    absent: Mapping[str, str],
    *,
    at_once: int | None = None,
) -> dict[str, Any]:
    """What `deploy fleet status --json` prints; reads only, so many replicas `at_once`. `absent` are the hosts that could not be looked
    at, each with why.

    The fleet is "healthy" where every replica serves and is behind the router, "degraded" where some do, else "down"; nobody knows
    which replicas an absent host has. A replica that cannot be asked has the error for its state.
    """
    listed, router = _router(routing)
    replicas = side_by_side([partial(_replica, member, listed) for member in members], at_once=at_once)
    _have_shared(replicas)
    ready = sum(each["ready"] for each in replicas)
    whole = ready == len(replicas) and not absent
    state = "down" if not ready else "healthy" if whole else "degraded"
    return {
        "fleet": fleet,
        "state": state,
        "ready": ready,
        "router": router,
        "absent": dict(absent),
        "replicas": replicas,
    }


def _router(routing: Routing | None) -> tuple[Listed | None, dict[str, Any] | None]:
    if routing is None:
        return None, None
    observed, history = routing.reading.observe()
    up = routing.answers(observed)
    listed = routing.listed() if up else Listed(None)
    stopped = history.outcome is not None and history.outcome.result == "stopped"
    ended = "stopped" if stopped else "dead"
    state = "healthy" if up else "running, not healthy" if observed.alive else ended
    job = routing.job
    return listed, {
        "name": job.name,
        "host": job.host.name,
        "state": state,
        "url": f"http://{observed.endpoint.host}:{observed.endpoint.port}/v1",
        "launch": observed.launch,
        "log": observed.log.path if observed.log else None,
        "workers": dict(listed.workers or {}),
    }


def _replica(member: FleetMember, listed: Listed | None) -> dict[str, Any]:
    replica = member.replica
    try:
        state = member.deployment.reading.status()
        serves = state["state"] == "healthy"
        requests = in_flight(member.job) if serves else None
    except DeployError as error:
        return {**replica_json(replica), "state": error.code, "ready": False, "error": error.message}
    admitted = None if listed is None else listed.admitted(replica)
    return {
        **replica_json(replica),
        "state": state["state"],
        "ready": serves and admitted is not False,
        "admitted": admitted,
        "requests": requests,
        "launch": state["launch"],
        "context": state["context"],
        "patches": [patch["patch"] for patch in state["patches"]],
        "edits": [patch["patch"] for patch in state["patches"] if patch["files"]],
        "outcome": state["outcome"],
    }


def _have_shared(replicas: Sequence[dict[str, Any]]) -> None:
    """Replicas of one host have one checkpoint: what one of them edited there is in force for each."""
    edits: dict[str, dict[str, None]] = {}
    for each in replicas:
        edits.setdefault(each["host"], {}).update(dict.fromkeys(each.pop("edits", ())))
    for each in replicas:
        if "patches" in each:
            each["patches"] = [*dict.fromkeys([*each["patches"], *edits[each["host"]]])]
