"""How does a verb get to one deployment that lies on several hosts?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from orchestrator.base.errors import DeployError, HostError, UsageError

if TYPE_CHECKING:
    from orchestrator.hosts.host import Host
    from orchestrator.job import Job
    from orchestrator.loop.deployment import Deployment
    from orchestrator.playbook.choice import Choice
    from orchestrator.playbook.playbook import Playbook
    from orchestrator.programs.addresses import Addresses

    MakeJob = Callable[[Host, Playbook, Sequence[Choice], Sequence[str]], Job]
    """Of a host, its part of the playbook, what was chosen for that, and the names of all hosts by their ranks."""

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
    *,
    launches: bool,
    as_far_as_reached: bool = False,
    at_once: int,
) -> Deployment:
    """The playbook on all of these hosts together; they are closed with `stack`. The first of them is its head, unless the record of
    a launch there says otherwise, stopped or not: a restart that was cut off had stopped it too, and clients know the head's address.

    `launches`: one may be started, so that it has to be known where they meet. `as_far_as_reached`: some of them are enough.
    So many are reached `at_once`; what is done then all of them do together, since ranks wait for each other.
    Raises UsageError("host_twice") where two names lead to the same machine.
    """
    from orchestrator.group import on_record
    from orchestrator.group.group import Absent, Group, GroupHost
    from orchestrator.group.meeting import otherwise
    from orchestrator.group.spread import nodes, ranks, spread
    from orchestrator.loop.deployment import Deployment
    from orchestrator.loop.side_by_side import side_by_side
    from orchestrator.programs.addresses import ListAddresses
    from orchestrator.programs.ask import ask
    from orchestrator.survey.membership import of_note

    whole, choices = spread(playbook, len(names))

    def opened(name: str) -> tuple[Host, Addresses] | DeployError:
        try:
            host = stack.enter_context(open_named(name))
            return host, ask(host, ListAddresses(instance=whole.instance), deadline=ADDRESSES_SECONDS)
        except HostError as error:
            if not as_far_as_reached:
                error.message = f"{error.message.removesuffix('.')}; nothing was done on the other hosts"
                raise
            return error

    calls = [partial(opened, name) for name in names]
    ends = dict(zip(names, side_by_side(calls, at_once=at_once), strict=True))
    there = {name: end for name, end in ends.items() if not isinstance(end, DeployError)}
    errors = {name: end for name, end in ends.items() if isinstance(end, DeployError)}
    if not there:
        raise errors[names[0]]
    listed = {name: addresses for name, (_, addresses) in there.items()}
    _require_apart(listed)
    records = {name: of_note(each.group) for name, each in listed.items()}
    recorded = on_record.places(names, records)
    order, known = (recorded.names, recorded.known) if recorded else (names, listed)
    stopped = any(each.stopped for each in listed.values())
    kept = on_record.addresses(records) if recorded and not stopped else {}
    by_rank = {name: listed[name] for name in order if name in listed}
    places = nodes(whole, by_rank, kept) if launches else ranks(whole, order)
    hosts = [
        GroupHost(places[name].role, job(there[name][0], whole.as_node(places[name]), choices, order))
        for name in by_rank
    ]
    notes = [otherwise(by_rank, kept)] if launches else []
    if launches and order[0] != names[0]:
        notes.append(
            f"{order[0]} is the head, as in the last launch; under another name (--name) it is {names[0]}"
        )
    for words in filter(None, notes):
        hosts[0].job.report.of_all.emit("warning", words)
    absent = (
        Absent(name, places[name].role if name in known else "", error) for name, error in errors.items()
    )
    return Deployment(Group(whole.instance, tuple(hosts), tuple(absent)))


def _require_apart(hosts: Mapping[str, Addresses]) -> None:
    known: dict[tuple[str, str, str], str] = {}
    for name, listed in hosts.items():
        first = known.setdefault(listed.place, name)
        if first != name:
            words = f"{first} and {name} are the same machine: each host serves one part of the model"
            raise UsageError("host_twice", words, verb="up")
