"""How is one model spread over several hosts: which ranks on which of them, and who is the head?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from orchestrator.base.errors import UsageError
from orchestrator.engines.node import MEETING_PORT, Node, patience
from orchestrator.group.meeting import meeting
from orchestrator.playbook.choice import Choice
from orchestrator.playbook.playbook import Playbook
from orchestrator.programs.addresses import Addresses

_NODES, _TENSOR = ("parallel", "nodes"), ("parallel", "tensor")
INTERFACE = "INTERFACE"
"""What stands in a plan where no host was asked which of its interfaces leads to the others."""
_PIPELINE, _DATA = ("parallel", "pipeline"), ("parallel", "data")


def spread(playbook: Playbook, hosts: int) -> tuple[Playbook, tuple[Choice, ...]]:
    """The playbook for so many hosts together, with what was chosen for it and why.

    A playbook that is written for one host keeps its ranks there. Where it has copies there are more of them; else its layers
    are shared out over the hosts: what passes from one stage to the next is small, while the parts of a layer need the fastest
    links there are. Raises
    UsageError("nodes_differ").
    """
    parallel = playbook.parallel
    if parallel.nodes == hosts:
        return playbook, ()
    if parallel.nodes != 1 or playbook.origin(*_NODES) in ("option", "playbook"):
        other = {} if parallel.ranks % hosts else {"setting": f"parallel.nodes={hosts}"}
        raise UsageError(
            "nodes_differ",
            f"{playbook.name} is spread over {parallel.nodes} hosts, and {hosts} are named: name {parallel.nodes}",
            playbook=playbook.name,
            **other,
        )
    choices = [Choice(_NODES, hosts, f"{hosts} hosts serve as one")]
    if playbook.needs.gpus == 0:
        if parallel.tensor % hosts:
            why = "on CPUs a layer is spread over the hosts: stages of a pipeline are for GPUs"
            choices.append(Choice(_TENSOR, parallel.tensor * hosts, why))
    elif parallel.data > 1:
        choices.append(
            Choice(_DATA, parallel.data * hosts, "each host has as many copies as the playbook says")
        )
    else:
        why = "the layers are shared out over the hosts: between stages little is sent, inside a layer much"
        choices.append(Choice(_PIPELINE, parallel.pipeline * hosts, why))
    # what an option says of stages or copies is meant of all hosts
    own = tuple(choice for choice in choices if playbook.origin(*choice.key) != "option")
    values = {choice.key: choice.value for choice in own}
    ranks_of_all = (
        parallel.tensor * values.get(_PIPELINE, parallel.pipeline) * values.get(_DATA, parallel.data)
    )
    if _TENSOR not in values and ranks_of_all % hosts:
        raise UsageError(
            "nodes_differ",
            f"{playbook.name}: {ranks_of_all} ranks cannot be shared evenly by {hosts} hosts: the product of "
            "parallel.tensor, parallel.pipeline and parallel.data has to be a multiple of their number",
            playbook=playbook.name,
        )
    return playbook.completed(values), own


def ranks(playbook: Playbook, names: Sequence[str]) -> dict[str, Node]:
    """Each host's part in what is only looked at or ended: where they would meet, which they may not do any more, is left open."""
    return {
        name: Node(rank, len(names), names[0], MEETING_PORT, name, "", balance=playbook.parallel.balance)
        for rank, name in enumerate(names)
    }


def unplanned(hosts: Mapping[str, Addresses]) -> dict[str, Node]:
    """Each host's place where nothing is planned for them yet. Raises what `meeting` does."""
    places = meeting(hosts)
    head = next(iter(places.values())).address
    return {
        name: Node(rank, len(hosts), head, MEETING_PORT, place.address, place.interface)
        for rank, (name, place) in enumerate(places.items())
    }


def nodes(
    playbook: Playbook, hosts: Mapping[str, Addresses], kept: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Node]:
    """Each host's part, by its name; the first one named is the head. `kept` and what it raises are those of `meeting`."""
    return _nodes(
        playbook, {name: (place.address, place.interface) for name, place in meeting(hosts, kept).items()}
    )


def supposed(playbook: Playbook, names: Sequence[str]) -> dict[str, Node]:
    """Each host's part where none is asked: a host's name stands for its address."""
    return _nodes(playbook, {name: (name, INTERFACE) for name in names})


def _nodes(playbook: Playbook, places: Mapping[str, tuple[str, str]]) -> dict[str, Node]:
    """By the address and interface of each."""
    head, _ = next(iter(places.values()))
    asked = str(playbook.arguments.get(playbook.kind.meeting or "", ""))
    port = int(asked) if asked.isdecimal() else MEETING_PORT
    balance, through = playbook.parallel.balance, playbook.parallel.through
    waits = patience(playbook.figures.weights_bytes, len(places))
    return {
        name: Node(rank, len(places), head, port, address, interface, waits, balance, through)
        for rank, (name, (address, interface)) in enumerate(places.items())
    }
