"""How are the replicas of a fleet changed one by one, so that no request is lost and there are always enough?"""

from __future__ import annotations

from orchestrator.base.errors import DeployError, PreflightRefused
from orchestrator.loop.draining import drain
from orchestrator.loop.fleet import Fleet, FleetMember
from orchestrator.loop.going_back import Before, go_back


class Rolling:
    """One change of all replicas: each is taken out of the router, drained, started anew, proven and put back before the next.

    At least `min_ready` others serve behind the router while one is out. One that does not come up goes back to what it was
    started with before, and none after it is touched. Without a router nobody can keep requests away from a replica.
    """

    def __init__(self, fleet: Fleet, *, min_ready: int, drain_seconds: float) -> None:
        self._fleet = fleet
        self._min_ready = min_ready
        self._drain_seconds = drain_seconds
        self.failed: FleetMember | None = None
        """The one that did not come up with the change."""

    def restart(self) -> int:
        """Change every replica; gives how many have been. Raises the error of the one that failed."""
        fleet = self._fleet
        with fleet.locked("changing the fleet"):
            if fleet.routing is not None:
                fleet.routing.begin()
            # those that serve nobody cost nothing, and may be what is lacking for the others
            serving = {id(member): self._serves(member) for member in fleet.members}
            for member in sorted(fleet.members, key=lambda member: serving[id(member)]):
                self._change(member)
            if fleet.routing is not None:
                fleet.routing.prove()
        return len(fleet.members)

    def _change(self, member: FleetMember) -> None:
        observed, history = member.deployment.reading.observe()
        before = Before.of(observed, history)
        routing = self._fleet.routing
        if observed.serves:
            self._require_others(member)
            if routing is None:
                member.job.report.emit("warning", "nothing keeps requests away from it while it restarts")
            else:
                drain(member.job, member.replica, routing, self._drain_seconds)
        try:
            member.deployment.restart()
        except DeployError as error:
            self.failed = member
            if before is not None:
                self._back(member, before, error)
            raise
        if routing is not None:
            routing.admit(member.replica)

    def _require_others(self, member: FleetMember) -> None:
        others = [other for other in self._fleet.members if other is not member]
        ready = sum(self._ready(other) for other in others)
        if ready < self._min_ready:
            count = len(self._fleet.members)
            raise PreflightRefused(
                "min_ready",
                f"{ready} of {count} replicas would serve while {member.replica.name} restarts, and "
                f"{self._min_ready} are to",
                ready=str(ready),
            )

    def _back(self, member: FleetMember, before: Before, error: DeployError) -> None:
        """Have it as it was; what that comes to is said with the error."""
        try:
            done = go_back(member.deployment, before)
            if self._fleet.routing is not None:
                self._fleet.routing.admit(member.replica)
        except DeployError as second:
            error.message += f". Nor is it back as it was: {second.message}"
            return
        error.left = None  # what the failed launch left is ended, and what lives serves
        error.message += f". {member.replica.name} {done}; no other was touched after it"

    def _ready(self, member: FleetMember) -> bool:
        routing = self._fleet.routing
        return self._serves(member) and (routing is None or routing.listed().admitted(member.replica))

    def _serves(self, member: FleetMember) -> bool:
        return member.deployment.reading.observe()[0].serves
