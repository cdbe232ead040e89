"""How is a fleet changed behind an HAProxy that is somebody's own?"""

from __future__ import annotations

import time
from collections.abc import Sequence

from orchestrator.base.errors import LaunchFailed, PreflightRefused
from orchestrator.fleet import haproxy
from orchestrator.fleet.replica import Replica
from orchestrator.job import Job
from orchestrator.loop.balancer import ASK_SECONDS, Balancer, Listed
from orchestrator.programs.ask import ask
from orchestrator.programs.haproxy import AskHaproxy

CHANGE_SECONDS = 30.0
"""How long it may take to see that a replica is up: it looks once a second, where nobody told it otherwise."""
INTERVAL_SECONDS = 0.25


class Haproxy(Balancer):
    """By its admin socket on the fleet's first host. Its backend is called as the fleet is, its servers as the replicas are
    (`deploy fleet config` writes it so). It is neither started nor stopped here."""

    title = "HAProxy"

    def __init__(self, job: Job, socket: str, replicas: Sequence[Replica]) -> None:
        self._job = job
        self._socket = socket
        self._replicas = replicas

    @property
    def job(self) -> Job:
        return self._job

    def begin(self) -> None:
        known = self._servers()
        if lacking := [replica.name for replica in self._replicas if replica.name not in known]:
            fleet = self._replicas[0].fleet
            raise PreflightRefused(
                "haproxy_backend",
                f"{self.job.host.name}: the backend {fleet} at {self._socket} has no server {', '.join(lacking)}; "
                f"it has {', '.join(known) or 'none'}",
            )

    def end(self) -> None: ...

    def listed(self) -> Listed:
        known = self._servers()
        return Listed({replica.url: known.get(replica.name, False) for replica in self._replicas})

    def keep(self, replicas: Sequence[Replica]) -> None: ...

    def admit(self, replica: Replica) -> None:
        answer = self._ask(haproxy.ready(replica))
        if not self._until(replica, serving=True):
            raise LaunchFailed(
                "not_admitted", f"HAProxy does not take {replica.name} for healthy: {answer.strip()}"
            )

    def withdraw(self, replica: Replica) -> None:
        answer = self._ask(haproxy.drain(replica))
        if not self._until(replica, serving=False):
            raise LaunchFailed("not_withdrawn", f"HAProxy keeps {replica.name}: {answer.strip()}")

    def _until(self, replica: Replica, *, serving: bool) -> bool:
        give_up = time.monotonic() + CHANGE_SECONDS
        while time.monotonic() < give_up:
            if self._servers().get(replica.name) is serving:
                return True
            time.sleep(INTERVAL_SECONDS)
        return False

    def _servers(self) -> dict[str, bool]:
        fleet = self._replicas[0].fleet
        return dict(haproxy.servers(fleet, self._ask(haproxy.STATISTICS)) or {})

    def _ask(self, command: str) -> str:
        request = AskHaproxy(socket=self._socket, command=command, timeout=ASK_SECONDS)
        return ask(self.job.host, request).text
