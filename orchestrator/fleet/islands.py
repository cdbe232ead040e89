"""Which of a host's free cards belong together, so that one replica gets them? Pure: links in, numbers of cards out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchestrator.facts.topology import NEAREST_FIRST, Topology

_SHARED = {
    "NVLINK": "NVLink",
    "PIX": "one PCIe switch",
    "PXB": "PCIe switches",
    "PHB": "one host bridge",
    "NODE": "one NUMA node",
    "SYS": "NUMA nodes apart",
}


def together(free: Sequence[int], count: int, links: Topology | None) -> tuple[int, ...]:
    """So many of the free cards (by number), as near to each other as there are.

    They come from the smallest island that has them, so that larger ones stay whole for who needs more; where they are a
    part of an island, from as few of the smaller islands in it as can be. Without links the numbers decide: neighbours on
    the bus have neighbouring ones. There are at least so many.
    """
    free = sorted(free)
    if links is None:
        return tuple(free[:count])
    for level in range(len(NEAREST_FIRST)):
        islands = [island for island in _islands(free, level, links) if len(island) >= count]
        if islands:
            smallest = min(islands, key=lambda island: (len(island), island))
            return tuple(sorted(_part(smallest, count, level, links)))
    return tuple(free[:count])


def shared(cards: Sequence[int], links: Topology | None) -> str:
    """What the longest link between these cards is, in words; "" for a single card, and where it is not known."""
    farthest = None if links is None else links.of(cards).farthest
    return "" if farthest is None else _SHARED[farthest[0]]


def _part(island: Sequence[int], count: int, level: int, links: Topology) -> Iterable[int]:
    """So many cards of an island whose links are all of this level or nearer."""
    if len(island) == count or level == 0:
        return island[:count]
    chosen: list[int] = []
    inner = sorted(_islands(island, level - 1, links), key=lambda part: (-len(part), part))
    for part in inner:
        lacking = count - len(chosen)
        chosen += part if len(part) <= lacking else _part(part, lacking, level - 1, links)
        if len(chosen) == count:
            break
    return chosen


def _islands(cards: Sequence[int], level: int, links: Topology) -> list[list[int]]:
    """The cards in groups within which one leads to the next by links of this level or nearer."""
    near = set(NEAREST_FIRST[: level + 1])
    islands: list[list[int]] = []
    for card in cards:
        joined = [
            island for island in islands if any(_kind(links.links[card][other]) in near for other in island)
        ]
        islands = [island for island in islands if island not in joined]
        islands.append(sorted([card, *(other for island in joined for other in island)]))
    return sorted(islands)


def _kind(link: str) -> str:
    return "NVLINK" if link.startswith("NV") else link
