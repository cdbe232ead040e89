"""In which order do the replicas of a fleet come up, and how are they ended?"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from orchestrator.base.errors import DeployError, UsageError
from orchestrator.base.limits import DRAIN_SECONDS
from orchestrator.fleet.replica import Replica
from orchestrator.job import Job
from orchestrator.loop.balancer import Balancer
from orchestrator.loop.deployment import Deployment
from orchestrator.loop.draining import drain
from orchestrator.loop.healed import inherit
from orchestrator.loop.lock import Lock
from orchestrator.loop.side_by_side import side_by_side


@dataclass(frozen=True)
class FleetMember:
    """A replica, and the deployment that it is."""

    replica: Replica
    deployment: Deployment

    @property
    def job(self) -> Job:
        return self.deployment.reading.job


Failed = Callable[[FleetMember, DeployError], None]
"""Tells of a replica that has failed, as soon as it has."""


class Fleet:
    """The replicas of one playbook, and the router before them where there is one.

    A failure of one stops no other, unless `fail_fast`; so many are at work `at_once`, all unless told. `lock` is the job under whose name no second person changes the fleet.
    """

    def __init__(
        self,
        lock: Job,
        members: Sequence[FleetMember],
        routing: Balancer | None,
        failed: Failed,
        *,
        fail_fast: bool = False,
        at_once: int | None = None,
    ) -> None:
        self.members = tuple(members)
        self.routing = routing
        self._lock = lock
        self._failed = failed
        self._fail_fast = fail_fast
        self._at_once = at_once

    @contextmanager
    def locked(self, doing: str) -> Iterator[Lock]:
        """While this is open nobody else changes the fleet; each replica has its own lock beside it."""
        with Lock(self._lock, doing) as lock:
            yield lock

    def up(self, surplus: Sequence[FleetMember] = ()) -> int:
        """Bring up every replica until a completion comes out of it, and have it behind the router; gives how many are.

        The first goes alone where none serves yet: what heals it is planned for the others before they fail. `surplus` are
        ended once others are up, each when it has answered what it has; where none came up they serve on.
        """
        with self.locked("bringing the fleet up"):
            if self.routing is not None:
                self.routing.begin()
            healthy = self._bring_up(self.members, lambda deployment: deployment.up())
            if healthy and self.routing is not None:
                self.routing.prove()
            ended = self._each(self._take_out, surplus) if healthy else []
            if self.routing is not None:
                stay = [member for member in surplus if member not in ended]
                self.routing.keep([member.replica for member in (*self.members, *stay)])
            return len(healthy)

    def remediate(self) -> int:
        """Bring back those that do not serve, each by what its own log says, and have all that serve behind the router; gives how
        many do. The others are not touched, and neither is what was stopped."""
        with self.locked("repairing the fleet"):
            serving, fallen = self._standing()
            if self.routing is not None:
                self.routing.begin()
            healthy = serving + self._bring_up(fallen, lambda deployment: deployment.remediate())
            if self.routing is not None:
                for member in serving:
                    self.routing.admit(member.replica)
                if healthy:
                    self.routing.prove()
            return len(healthy)

    def stop(self) -> bool:
        """End the router, then every replica; whether all of it ended."""
        with self.locked("stopping the fleet"):
            if self.routing is not None:
                self.routing.end()
            return len(self._each(lambda member: member.deployment.stop(), self.members)) == len(self.members)

    def _standing(self) -> tuple[list[FleetMember], list[FleetMember]]:
        """Those that serve, and those that should; raises UsageError("all_stopped") where there are none of either."""
        serving, fallen = [], []
        for member in self.members:
            observed, history = member.deployment.reading.observe()
            if observed.serves:
                serving.append(member)
            elif history.outcome is None or history.outcome.result != "stopped" or history.outcome.halfway:
                fallen.append(member)
        if not serving and not fallen:
            raise UsageError("all_stopped", "every replica was stopped: none has fallen")
        return serving, fallen

    def _bring_up(
        self, members: Sequence[FleetMember], bring: Callable[[Deployment], None]
    ) -> list[FleetMember]:
        """Those of them that came up and are behind the router."""

        def work(member: FleetMember) -> None:
            bring(member.deployment)
            if self.routing is not None:
                self.routing.admit(member.replica)

        model = next(
            (member for member in self.members if member.deployment.reading.observe()[0].serves), None
        )
        rest, first = members, []
        if model is None:
            first, rest = self._each(work, members[:1]), members[1:]
            if not first and self._fail_fast:
                return []
            model = first[0] if first else None
        if model is not None:
            others = [member.deployment.reading for member in rest if member is not model]
            inherit(model.deployment.reading, others)
        leading = self._leading(rest)
        led = self._each(work, leading)
        if len(led) < len(leading) and self._fail_fast:
            return first + led
        return first + led + self._each(work, [member for member in rest if member not in leading])

    def _leading(self, members: Sequence[FleetMember]) -> list[FleetMember]:
        """One of each host that has had none of them before: its replicas share a checkpoint's folder, in which one at a time
        writes what is fetched and edited."""
        known = {
            member.replica.host
            for member in self.members
            if member.deployment.reading.observe()[0].launch is not None
        }
        leading: dict[str, FleetMember] = {}
        for member in members:
            if member.replica.host not in known:
                leading.setdefault(member.replica.host, member)
        return list(leading.values())

    def _take_out(self, member: FleetMember) -> None:
        if self.routing is not None:
            if member.deployment.reading.observe()[0].serves:
                drain(member.job, member.replica, self.routing, DRAIN_SECONDS)
            else:
                self.routing.withdraw(member.replica)
        member.deployment.stop()

    def _each(self, work: Callable[[FleetMember], None], members: Sequence[FleetMember]) -> list[FleetMember]:
        """Those with which it ended well, all at once; the others have been told of."""
        halted = threading.Event()

        def tried(member: FleetMember) -> bool:
            if halted.is_set():
                return False
            well = self._ends_well(work, member)
            if not well and self._fail_fast:
                halted.set()
            return well

        ends = side_by_side([partial(tried, member) for member in members], at_once=self._at_once)
        return [member for member, well in zip(members, ends, strict=True) if well]

    def _ends_well(self, work: Callable[[FleetMember], None], member: FleetMember) -> bool:
        try:
            work(member)
        except DeployError as error:
            self._failed(member, error)
            return False
        return True
