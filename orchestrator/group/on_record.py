"""Which place has each host of a group in the launch that is on record there? Pure.

Once there is a launch it says who the head is and where all meet, and not the order in which hosts are typed, nor an interface that
came up since: a head that changes between two commands is another service.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.survey.membership import Membership


@dataclass(frozen=True)
class Ranking:
    """The hosts by their rank; those that are `known` have their place by a record, others are where one is left."""

    names: tuple[str, ...]
    known: Collection[str]


def places(names: Sequence[str], records: Mapping[str, Membership | None]) -> Ranking | None:
    """The places of hosts as their records tell; None where they tell of no launch of just so many hosts, or of several.

    A host without a record, such as one that does not answer, has its place by its name, or where a single place is left.
    """
    there = {name: own for name in names if (own := records.get(name)) is not None}
    groups = {own.hosts for own in there.values()}
    taken = {own.rank: name for name, own in there.items()}
    if len(groups) != 1 or len(taken) < len(there) or len(next(iter(groups))) != len(names):
        return None
    (hosts,) = groups
    for rank, name in enumerate(hosts):
        if name in names and name not in there and rank not in taken:
            taken[rank] = name
    left = [name for name in names if name not in taken.values()]
    known = set(names) - set(left if len(left) > 1 else ())
    open_ranks = (rank for rank in range(len(hosts)) if rank not in taken)
    taken |= dict(zip(open_ranks, left, strict=True))
    return Ranking(tuple(taken[rank] for rank in range(len(hosts))), frozenset(known))


def addresses(records: Mapping[str, Membership | None]) -> dict[str, str]:
    """By which address each host was met in its launch; empty where not all of them say it."""
    known = {name: own.address for name, own in records.items() if own is not None and own.address}
    return known if len(known) == len(records) else {}
