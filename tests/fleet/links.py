"""Links between the cards of hosts that do not exist."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.facts.topology import Topology


def of_levels(*levels: tuple[str, int]) -> Topology:
    """Cards in groups within groups: ("PIX", 2), ("NODE", 2), ("SYS", 2) are eight, in pairs on a switch, two pairs a node."""
    sizes = [1]
    for _, count in levels:
        sizes.append(sizes[-1] * count)

    def link(a: int, b: int) -> str:
        if a == b:
            return "X"
        return next(kind for (kind, _), size in zip(levels, sizes[1:], strict=True) if a // size == b // size)

    cards = range(sizes[-1])
    return Topology(tuple(tuple(link(a, b) for b in cards) for a in cards))


def shuffled(links: Topology, order: Sequence[int]) -> Topology:
    """The same cards under other numbers: card `order[n]` becomes n."""
    return links.of(order)


SWITCHES = of_levels(("PIX", 2), ("NODE", 2), ("SYS", 2))
SOCKETS = of_levels(("NODE", 4), ("SYS", 2))
NVSWITCH = of_levels(("NV18", 8))
BRIDGES = of_levels(("NV4", 2), ("NODE", 2), ("SYS", 2))
