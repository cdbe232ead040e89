"""How is a fleet changed by a verb, and what is told of its end?"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from orchestrator.base.amounts import bracketed, duration
from orchestrator.base.errors import DeployError, UsageError
from orchestrator.cli.main import tell
from orchestrator.fleet.replica import count_of
from orchestrator.loop.fleet import Fleet, FleetMember
from orchestrator.loop.fleet_state import state_of
from orchestrator.loop.haproxy import Haproxy
from orchestrator.loop.rolling import Rolling
from orchestrator.report.alike import named
from orchestrator.report.fleet import places_json
from orchestrator.report.layout import WIDTH, plain

if TYPE_CHECKING:
    from orchestrator.cli.on_fleet import OpenFleet
    from orchestrator.fleet.replica import Replica

_AS_IT_SHOULD = ("stopped", "starting")
"""States of a replica that is not ready in which there is nothing to repair."""


class FleetRun:
    """A fleet while one command works on it; `codes` are the exit codes of what failed, each told as it did."""

    def __init__(self, opened: OpenFleet) -> None:
        self._opened = opened
        self.report = opened.report(opened.standing.rooms[0].name, opened.name)
        self.codes: list[int] = []

    def up(self, placed: Sequence[Replica], *, router: bool, fail_fast: bool) -> int:
        """Bring up these replicas, and end those that are there beside them."""
        from orchestrator.report.fleet import places

        opened = self._opened
        table = "\n".join(map(plain, places(opened.name, placed, {}, WIDTH)))
        self.report.emit(
            "plan", f"{table}\n", **places_json(opened.name, placed, {}, opened.options.settings)
        )
        surplus = [replica for replica in opened.standing.replicas if replica.number > len(placed)]
        fleet = self._fleet(placed, router=router, fail_fast=fail_fast)
        healthy = fleet.up(opened.members(surplus))
        self._tell(fleet, healthy)
        return max(self.codes, default=0)

    def restart(self, min_ready: int | None, drain_seconds: float, *, haproxy: str | None) -> int:
        """Change all that there are, one by one; `min_ready` others serve meanwhile, all unless told. `haproxy` is the admin
        socket of the proxy that drains them, where it is no router of ours."""
        opened = self._opened
        there(opened)
        replicas = opened.replicas(None)
        fleet = self._fleet(replicas, router=False)
        if haproxy is not None:
            fleet.routing = Haproxy(opened.router_job(), haproxy, replicas)
        least = len(replicas) - 1 if min_ready is None else min_ready
        rolling = Rolling(fleet, min_ready=least, drain_seconds=drain_seconds)
        try:
            changed = rolling.restart()
        except DeployError as error:
            if rolling.failed is not None:
                opened.name_replica(error, rolling.failed.replica)
            raise
        self._tell(fleet, changed)
        return 0

    def remediate(self, *, fail_fast: bool) -> int:
        """Bring back those that have fallen, and touch no other."""
        fleet = self._fleet(there(self._opened), router=False, fail_fast=fail_fast)
        self._tell(fleet, fleet.remediate())
        return max(self.codes, default=0)

    def stop(self) -> int:
        """End all of it."""
        fleet = self._fleet(there(self._opened), router=False)
        fleet.stop()
        if not self.codes:
            self.report.emit("result", f"stopped  {self._opened.name}", healthy=False, changed=True)
        return max(self.codes, default=0)

    def state(self) -> dict[str, Any]:
        """How it is now; reads only."""
        opened = self._opened
        members = opened.members(there(opened))
        absent = {name: error.message for name, error in opened.absent.items()}
        state = state_of(
            opened.name, members, opened.routing(wanted=False), absent, at_once=opened.options.breadth.at_once
        )
        fallen = any(not each["ready"] and each["state"] not in _AS_IT_SHOULD for each in state["replicas"])
        return {**state, "repair": opened.asked("remediate") if fallen else None}

    def _fleet(self, replicas: Sequence[Replica], *, router: bool, fail_fast: bool = False) -> Fleet:
        opened = self._opened
        return Fleet(
            opened.router_job(),
            opened.members(replicas),
            opened.routing(wanted=router),
            self._failed,
            fail_fast=fail_fast,
            at_once=opened.options.breadth.at_once,
        )

    def _failed(self, member: FleetMember, error: DeployError) -> None:
        opened, replica = self._opened, member.replica
        self.codes.append(error.exit_code)
        opened.name_replica(error, replica)
        as_json = opened.options.json
        with opened.shown.aside():
            tell(
                error, as_json=as_json, host=replica.host if as_json else replica.name, instance=replica.name
            )

    def _tell(self, fleet: Fleet, healthy: int) -> None:
        opened, playbook = self._opened, self._opened.playbook
        whole = healthy == len(fleet.members) and not opened.absent
        state = "healthy" if whole else "degraded" if healthy else "down"
        address = "127.0.0.1"
        if (
            fleet.routing is not None
            and not ip_address(playbook.listen.replace("localhost", address)).is_loopback
        ):
            address = fleet.routing.job.host.address
        urls = (
            [f"http://{bracketed(address)}:{playbook.port}/v1"]
            if fleet.routing is not None
            else [f"{member.replica.url}/v1" for member in fleet.members]
        )
        count = f"{healthy} of {count_of(len(fleet.members))}"
        lines = [f"{state}  {urls[0]}", *(f"{'':{len(state)}}  {url}" for url in urls[1:])]
        lines.append(f"  model   {playbook.served_name}, {count}, {duration(self.report.seconds)} in all")
        lines += [f"  status  {opened.asked('status')}", f"  stop    {opened.asked('stop')}"]
        self.report.emit(
            "result",
            "\n".join(lines),
            healthy=state == "healthy",
            state=state,
            urls=urls,
            replicas=len(fleet.members),
            ready=healthy,
        )


def there(opened: OpenFleet) -> tuple[Replica, ...]:
    """The replicas that there are; raises UsageError("no_fleet") where there is nothing of the fleet."""
    if not opened.standing.replicas and opened.standing.router is None:
        hosts = ", ".join(room.name for room in opened.standing.rooms)
        unseen = f"; {named(tuple(opened.absent))} could not be asked" if opened.absent else ""
        error = UsageError("no_fleet", f"there is no replica of {opened.name} on {hosts}{unseen}")
        raise error
    return opened.standing.replicas
