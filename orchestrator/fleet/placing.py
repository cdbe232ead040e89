"""Which replica goes to which host, and to which of its cards? Pure: what each host has in, a place for each replica out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.base.errors import PreflightRefused, UsageError
from orchestrator.facts.topology import Topology
from orchestrator.fleet.islands import shared, together
from orchestrator.fleet.replica import Replica, numbers

LAST_PORT = 65535


@dataclass(frozen=True)
class HostRoom:
    """What a host has for replicas: the numbers of the cards that may be used, and of those that others hold, with the links
    between all of them where they are known. `address` is where its replicas answer the router."""

    name: str
    address: str
    cards: tuple[int, ...] = ()
    held: tuple[int, ...] = ()
    links: Topology | None = None


@dataclass(frozen=True)
class FleetShape:
    """So many replicas of a fleet, on so many cards each (0: on the CPU); `port` is the service's."""

    fleet: str
    replicas: int
    cards: int
    port: int


def place(asked: FleetShape, rooms: Sequence[HostRoom], kept: Sequence[Replica] = ()) -> tuple[Replica, ...]:
    """A place for each replica, by number. One that is there already (`kept`) stays; the others go to the hosts that have the
    fewest, the first named of equals, each on cards that lie together.

    Replica N answers at the service's port + N, whichever host it is on. Raises PreflightRefused("fleet_room"), and
    UsageError("fleet_cards") for one that is there with another number of cards, UsageError("fleet_port").
    """
    if asked.port + asked.replicas > LAST_PORT:
        raise UsageError(
            "fleet_port",
            f"replica N answers at port {asked.port} + N, and {asked.replicas} of them go beyond {LAST_PORT}",
            setting="port=8000",
        )
    placed = {replica.number: replica for replica in kept if replica.number <= asked.replicas}
    for replica in placed.values():
        _require_cards(replica, asked)
    for number in range(1, asked.replicas + 1):
        if number not in placed:
            placed[number] = _new(number, asked, rooms, tuple(placed.values()))
    return tuple(placed[number] for number in sorted(placed))


def why(replica: Replica, rooms: Sequence[HostRoom]) -> str:
    """What its cards share, in words; "" where nothing is to be said."""
    room = next(room for room in rooms if room.name == replica.host)
    return shared(replica.cards, room.links) if set(replica.cards) <= {*room.cards, *room.held} else ""


def _new(number: int, asked: FleetShape, rooms: Sequence[HostRoom], placed: Sequence[Replica]) -> Replica:
    free = {room.name: _free(room, placed) for room in rooms}
    enough = [room for room in rooms if len(free[room.name]) >= asked.cards]
    if not enough:
        raise _full(asked, rooms, free, len(placed))
    room = min(enough, key=lambda room: sum(replica.host == room.name for replica in placed))
    cards = together(free[room.name], asked.cards, room.links) if asked.cards else ()
    return Replica(asked.fleet, number, room.name, room.address, asked.port + number, cards)


def _free(room: HostRoom, placed: Sequence[Replica]) -> tuple[int, ...]:
    taken = {card for replica in placed if replica.host == room.name for card in replica.cards}
    return tuple(card for card in room.cards if card not in taken)


def _require_cards(replica: Replica, asked: FleetShape) -> None:
    if len(replica.cards) != asked.cards:
        has, wants = numbers(replica.cards), f"{asked.cards} GPUs" if asked.cards else "no GPU"
        raise UsageError(
            "fleet_cards",
            f"{replica.name} on {replica.host} has {has}, and {wants} are asked for: "
            "a replica keeps its cards until it is stopped",
            **({"gpus": str(len(replica.cards))} if replica.cards else {}),
        )


def _full(
    asked: FleetShape, rooms: Sequence[HostRoom], free: dict[str, tuple[int, ...]], placed: int
) -> PreflightRefused:
    each = "; ".join(
        f"{room.name} has {len(free[room.name])} left"
        + (f", others hold {numbers(room.held)}" if room.held else "")
        for room in rooms
    )
    fits = f"{placed} of {asked.replicas} replicas find {asked.cards} free GPUs"
    known = {"replicas": str(placed)} if placed else {"host": rooms[0].name}
    return PreflightRefused("fleet_room", f"{fits}: {each}", **known)
