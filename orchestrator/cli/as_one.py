"""How does a verb get to one deployment that lies on several hosts?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from orchestrator.base.errors import UsageError

if TYPE_CHECKING:
    from orchestrator.hosts.host import Host
    from orchestrator.job import Job
    from orchestrator.loop.deployment import Deployment
    from orchestrator.playbook.choice import Choice
    from orchestrator.playbook.playbook import Playbook

    MakeJob = Callable[[Host, Playbook, Sequence[Choice]], Job]

ADDRESSES_SECONDS = 30.0


def wanted(playbook: Playbook, hosts: Sequence[str], *, asked: bool) -> bool:
    """Whether the hosts serve one model together: the command asks for it, or the playbook is written for several.

    Raises UsageError("nodes_missing") where there are fewer than two to do it.
    """
    nodes = playbook.parallel.nodes
    if not asked and nodes == 1:
        return False
    if len(hosts) > 1:
        return True
    needed = f"{playbook.name} is spread over {nodes} hosts" if nodes > 1 else "--as-one needs several hosts"
    raise UsageError("nodes_missing", f"{needed}, and only {hosts[0]} is named")


def deployment_on(
    names: Sequence[str],
    open_named: Callable[[str], Host],
    playbook: Playbook,
    job: MakeJob,
    stack: ExitStack,
) -> Deployment:
    """The playbook on all of these hosts together, the first of them its head; they are closed with `stack`."""
    from orchestrator.group.group import Group, GroupHost
    from orchestrator.group.spread import nodes, spread
    from orchestrator.loop.deployment import Deployment
    from orchestrator.loop.side_by_side import side_by_side
    from orchestrator.programs.addresses import Addresses, ListAddresses
    from orchestrator.programs.ask import ask

    whole, choices = spread(playbook, len(names))

    def opened(name: str) -> tuple[Host, Addresses]:
        host = stack.enter_context(open_named(name))
        return host, ask(host, ListAddresses(), deadline=ADDRESSES_SECONDS)

    hosts = side_by_side([partial(opened, name) for name in names])
    places = nodes(whole, {host.name: listed for host, listed in hosts})
    return Deployment(
        Group(
            whole.instance,
            tuple(
                GroupHost(node.role, job(host, whole.as_node(node), choices))
                for (host, _), node in zip(hosts, places.values(), strict=True)
            ),
        )
    )
