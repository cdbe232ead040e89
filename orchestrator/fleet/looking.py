"""What does one host have of a fleet, and for it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.base.errors import HostError
from orchestrator.facts import gpus, topology
from orchestrator.facts.gather import commands, reading
from orchestrator.facts.gpus import Gpu
from orchestrator.facts.source import Query, Unknown
from orchestrator.facts.topology import Topology
from orchestrator.fleet.placing import HostRoom
from orchestrator.fleet.replica import VISIBLE, Replica, number_of, router_name
from orchestrator.group.meeting import meeting
from orchestrator.hosts.host import Host
from orchestrator.programs.addresses import Addresses
from orchestrator.programs.ask import ask
from orchestrator.programs.read_facts import ReadFacts
from orchestrator.programs.replicas import Deployed, ListReplicas

SECONDS = 60.0
LOOPBACK = "127.0.0.1"
OTHERS_SHARE = 0.1
"""Of a card's memory: who holds more is at work there, and no replica is put on it."""


@dataclass(frozen=True)
class HostLook:
    """One host, as it was looked at."""

    host: str
    deployed: tuple[Deployed, ...]
    addresses: Addresses
    cards: tuple[Gpu, ...]
    links: Topology | None


def look(host: Host, fleet: str) -> HostLook:
    """Ask one host, in one round trip; changes nothing there."""
    query = Query("~")
    facts = ReadFacts(commands=commands(query, (gpus.FACT, topology.FACT)))
    there = ask(host, ListReplicas(fleet=fleet, facts=facts), deadline=SECONDS)
    cards, links = reading(gpus.FACT, there.facts, query), reading(topology.FACT, there.facts, query)
    present = () if isinstance(cards, Unknown) else cards.gpus
    known = None if isinstance(links, Unknown) or links.gpus != len(present) else links
    return HostLook(host.name, there.deployments, there.addresses, present, known)


@dataclass(frozen=True)
class FleetStanding:
    """All hosts of a fleet as they were looked at: the replicas that are there, of which those `alive` have processes, and what
    each host has room for. The router's host is the first: where it is already, else the one that was named first.

    The last ones that were stopped are none of the fleet any more while others are (`ended`): it was made smaller.
    """

    rooms: tuple[HostRoom, ...]
    replicas: tuple[Replica, ...]
    alive: frozenset[int]
    router: Deployed | None
    ended: tuple[Replica, ...] = ()

    @property
    def front(self) -> tuple[str, int] | None:
        """The address and port at which a router that lives is asked, as its record says."""
        return _place(self.router) if self.router is not None and self.router.alive else None

    @property
    def cards(self) -> int | None:
        """How many each replica has; None where they differ, or there is none."""
        counts = {len(replica.cards) for replica in self.replicas}
        return counts.pop() if len(counts) == 1 else None

    def keeping(self, cards: int) -> tuple[Replica, ...]:
        """Those that keep their place where each is to have so many cards: all that live, and of the others those whose cards are
        as many and held by nobody else."""
        free = {room.name: {*room.cards} for room in self.rooms}
        return tuple(
            replica
            for replica in (*self.replicas, *self.ended)
            if replica.number in self.alive
            or (len(replica.cards) == cards and free[replica.host] >= {*replica.cards})
        )


def standing(fleet: str, looks: Sequence[HostLook]) -> FleetStanding:
    """What the looks at all hosts come to. Pure.

    On the router's host replicas answer on the loopback interface, on others at an address in a network that all hosts
    share. Raises PreflightRefused("no_common_network"), and HostError("replica_twice") where two
    hosts have a living one of the same number.
    """
    looks = sorted(looks, key=lambda each: _nearness(_router(fleet, each)))
    addresses = _addresses(looks)
    rooms: list[HostRoom] = []
    replicas: dict[int, Replica] = {}
    alive: set[int] = set()
    stopped: set[int] = set()
    for each in looks:
        for deployed in each.deployed:
            replica = _replica(fleet, each.host, deployed)
            if replica is None or (not deployed.alive and replica.number in replicas):
                continue  # it was on this host once
            if replica.number in alive:
                raise _twice(replica, replicas[replica.number])
            replicas[replica.number] = replica
            alive |= {replica.number} if deployed.alive else set()
            (stopped.add if deployed.stopped and not deployed.alive else stopped.discard)(replica.number)
    for each in looks:
        own = {
            card
            for replica in replicas.values()
            if replica.host == each.host and replica.number in alive
            for card in replica.cards
        }
        rooms.append(_room(each, addresses[each.host], own))
    known = tuple(replicas[number] for number in sorted(replicas))
    last = max(replicas.keys() - stopped, default=max(replicas, default=0))
    return FleetStanding(
        tuple(rooms),
        tuple(replica for replica in known if replica.number <= last),
        frozenset(alive),
        _router(fleet, looks[0]),
        tuple(replica for replica in known if replica.number > last),
    )


def _nearness(router: Deployed | None) -> int:
    """The host with the router that lives comes first, then one that had it."""
    return 2 if router is None else 0 if router.alive else 1


def _router(fleet: str, each: HostLook) -> Deployed | None:
    return next((deployed for deployed in each.deployed if deployed.instance == router_name(fleet)), None)


def _addresses(looks: Sequence[HostLook]) -> Mapping[str, str]:
    first = {looks[0].host: LOOPBACK}
    if len(looks) == 1:
        return first
    places = meeting({each.host: each.addresses for each in looks})
    return {host: place.address for host, place in places.items()} | first


def _room(each: HostLook, address: str, own: set[int]) -> HostRoom:
    usable = [number for number, card in enumerate(each.cards) if card.unusable is None]
    held = tuple(number for number in usable if number not in own and _held(each.cards[number]))
    return HostRoom(
        each.host, address, tuple(number for number in usable if number not in held), held, each.links
    )


def _held(card: Gpu) -> bool:
    return (card.memory_used_mib or 0) > OTHERS_SHARE * (card.memory_mib or 0) > 0


def _replica(fleet: str, host: str, deployed: Deployed) -> Replica | None:
    """The replica that a record speaks of, None for another deployment's or one that does not say where it answers."""
    number, place = number_of(fleet, deployed.instance), _place(deployed)
    if number is None or place is None:
        return None
    return Replica(fleet, number, host, *place, _cards((deployed.command or {}).get("environment")))


def _place(deployed: Deployed) -> tuple[str, int] | None:
    place = ((deployed.command or {}).get("note") or {}).get("endpoint") or {}
    address, port = place.get("host"), place.get("port")
    return (address, port) if isinstance(address, str) and type(port) is int else None


def _cards(environment: Any) -> tuple[int, ...]:
    text = environment.get(VISIBLE) if isinstance(environment, Mapping) else None
    items = str(text).split(",") if text else []
    return tuple(int(item) for item in items if item.isascii() and item.isdigit())


def _twice(replica: Replica, other: Replica) -> HostError:
    return HostError(
        "replica_twice",
        f"{replica.name} is on {other.host} and on {replica.host}: one machine may be named twice",
    )
