"""How does a replica get back to what it was started with before a change that it did not take?"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.base.errors import LaunchFailed
from orchestrator.job import Job
from orchestrator.launch.attempt import Attempt
from orchestrator.launch.server import UnderWay
from orchestrator.loop.deployment import Deployment
from orchestrator.loop.lock import Lock
from orchestrator.on_host.kinds import registry
from orchestrator.programs.ask import ask
from orchestrator.programs.launch import StartLaunch
from orchestrator.programs.place import Endpoint
from orchestrator.survey.journal import History
from orchestrator.survey.observed import Observed


@dataclass(frozen=True)
class Before:
    """A launch that served: what it was started with, and which patches were in force."""

    launch: int
    command: Mapping[str, Any]
    endpoint: Endpoint
    patches: frozenset[str]

    @classmethod
    def of(cls, observed: Observed, history: History) -> Before | None:
        """The launch that is there; None where it does not serve, or what it was started with is not on record."""
        if not observed.serves or observed.launch is None or observed.command is None:
            return None
        patches = frozenset(applied.patch for applied in history.applied)
        return cls(observed.launch, observed.command, observed.endpoint, patches)


def go_back(deployment: Deployment, before: Before) -> str:
    """Have the same served again as before, by a completion; gives in words what was done.

    Its very command and environment are started anew, whatever the playbook says by now; of the patches those that came since are
    taken back. Raises LaunchFailed("not_back"), and what keeps a launch from its start.
    """
    reading = deployment.reading
    observed, history = reading.observe()
    if observed.serves and observed.launch == before.launch:
        return "serves on as it was"
    deployment.stop(anew=True)
    reading.job = job = _consenting(reading.job)
    for applied in reversed(history.applied):
        if applied.patch not in before.patches:
            deployment.revert(applied.patch)
    with Lock(job, f"going back to launch {before.launch}"):
        started = ask(job.host, _request(job, before))
        under_way = UnderWay(started.launch, started.log, before.endpoint)
        with Attempt(job, reading.plan("restart"), under_way, past="new") as attempt:
            failure = attempt.until_ready() or attempt.prove()
    if failure is not None:
        raise LaunchFailed("not_back", f"launch {started.launch}, the same as {before.launch}, fails too")
    return f"is back as it was (launch {started.launch}, the same as {before.launch})"


def _consenting(job: Job) -> Job:
    """The other replicas were started from the checkpoint as it was before, and are to start from it again."""
    return replace(job, wishes=replace(job.wishes, consents=(*job.wishes.consents, "shared-checkpoint")))


def _request(job: Job, before: Before) -> StartLaunch:
    command, own = before.command, job.playbook.environment
    names = [str(name) for name in command.get("secrets") or ()]
    if lacking := [name for name in names if name not in own]:
        raise LaunchFailed("not_back", f"{', '.join(lacking)}, which it was started with, is not given now")
    return StartLaunch(
        instance=job.name,
        playbook=job.playbook.name,
        kind=registry.USUAL.name,
        launch_id=uuid.uuid4().hex,
        argv=tuple(command["argv"]),
        environment=dict(command.get("environment") or {}),
        secrets={name: own[name].plain for name in names},
        unset=tuple(command.get("unset") or ()),
        token_consent=False,
        gpu_at_most_mib={},
        log_name=job.playbook.kind.log_name,
        footprint=job.playbook.kind.footprint,
        note=dict(command.get("note") or {}),
    )
