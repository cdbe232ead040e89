"""Which cards one replica gets."""

from __future__ import annotations

import pytest

from orchestrator.facts.topology import Topology
from orchestrator.fleet.islands import shared, together
from tests.fleet.links import BRIDGES, NVSWITCH, SOCKETS, SWITCHES, of_levels, shuffled

ALL = tuple(range(8))
MIXED = shuffled(SWITCHES, (0, 4, 1, 5, 2, 6, 3, 7))


@pytest.mark.parametrize(
    ("free", "count", "links", "taken"),
    [
        (ALL, 2, SWITCHES, (0, 1)),
        (ALL, 4, SWITCHES, (0, 1, 2, 3)),
        (ALL, 8, SWITCHES, ALL),
        (ALL, 1, NVSWITCH, (0,)),
        (ALL, 2, NVSWITCH, (0, 1)),
        (ALL, 4, BRIDGES, (0, 1, 2, 3)),
        ((1, 2, 3, 4, 5), 2, SWITCHES, (2, 3)),
        ((0, 2, 3, 4, 5, 6, 7), 1, SWITCHES, (0,)),
        ((0, 1, 2, 4, 5, 6, 7), 3, SOCKETS, (0, 1, 2)),
        ((0, 1, 2, 4, 5, 6, 7), 4, SOCKETS, (4, 5, 6, 7)),
        ((0, 2, 3, 4, 6, 7), 3, SWITCHES, (0, 2, 3)),
        (ALL, 6, SWITCHES, (0, 1, 2, 3, 4, 5)),
        ((1, 3, 5), 2, SWITCHES, (1, 3)),
        (ALL, 2, MIXED, (0, 2)),
        (ALL, 4, MIXED, (0, 2, 4, 6)),
        ((5, 3, 1), 2, None, (1, 3)),
    ],
)
def test_cards_that_lie_together_are_taken(
    free: tuple[int, ...], count: int, links: Topology | None, taken: tuple[int, ...]
) -> None:
    assert together(free, count, links) == taken


def test_pairs_fill_a_host_without_breaking_an_island() -> None:
    for links in (SWITCHES, MIXED, BRIDGES, NVSWITCH, of_levels(("PHB", 2), ("SYS", 4))):
        free, pairs = list(range(8)), []
        while free:
            pair = together(free, 2, links)
            free = [card for card in free if card not in pair]
            pairs.append(pair)
        assert len({shared(pair, links) for pair in pairs}) == 1
        assert shared(pairs[0], links) != "NUMA nodes apart"


def test_what_cards_share_is_told() -> None:
    assert shared((0, 1), SWITCHES) == "one PCIe switch"
    assert shared((0, 1, 2, 3), SWITCHES) == "one NUMA node"
    assert shared((3, 4), SWITCHES) == "NUMA nodes apart"
    assert shared((0, 7), NVSWITCH) == "NVLink"
    assert shared((0,), SWITCHES) == shared((0, 1), None) == ""
