"""Which place each host has in a launch that is on record."""

from __future__ import annotations

import pytest

from orchestrator.group.on_record import addresses, places
from orchestrator.survey.membership import Membership


def of(*hosts: str, rank: int, address: str = "") -> Membership:
    return Membership(hosts, rank, rank == 0, address)


@pytest.mark.parametrize(
    ("names", "records", "order", "known"),
    [
        ("ba", {"a": of("a", "b", rank=0), "b": of("a", "b", rank=1)}, "ab", "ab"),
        ("ab", {"a": of("a", "b", rank=0), "b": of("a", "b", rank=1)}, "ab", "ab"),
        ("yx", {"x": of("a", "b", rank=0), "y": of("a", "b", rank=1)}, "xy", "xy"),
        ("ba", {"b": of("a", "b", rank=1)}, "ab", "ab"),
        ("bx", {"b": of("a", "b", rank=1)}, "xb", "bx"),
        ("cba", {"b": of("a", "b", "c", rank=1)}, "abc", "abc"),
        ("zby", {"b": of("a", "b", "c", rank=1)}, "zby", "b"),
    ],
    ids=["typed the other way round", "as typed", "by other names", "the head is away", "it is away by another name", "two are away", "two are away by other names"],
)  # fmt: skip
def test_the_record_says_who_the_head_is(
    names: str, records: dict[str, Membership], order: str, known: str
) -> None:
    there = places(tuple(names), records)
    assert there is not None
    assert (there.names, set(there.known)) == (tuple(order), set(known))


@pytest.mark.parametrize(
    ("names", "records"),
    [
        ("ab", {}),
        ("ab", {"a": None, "b": None}),
        ("abc", {"a": of("a", "b", rank=0), "b": of("a", "b", rank=1)}),
        ("ab", {"a": of("a", "c", rank=0), "b": of("d", "b", rank=1)}),
        ("ab", {"a": of("a", "b", rank=0), "b": of("a", "b", rank=0)}),
    ],
    ids=["no answer", "never launched", "of fewer hosts", "of two groups", "one place for both"],
)
def test_without_one_record_of_just_these_hosts_there_is_no_place(
    names: str, records: dict[str, Membership | None]
) -> None:
    assert places(tuple(names), records) is None


def test_where_they_met_is_known_of_all_or_of_none() -> None:
    first, second = of("a", "b", rank=0, address="10.0.0.1"), of("a", "b", rank=1, address="10.0.0.2")
    assert addresses({"a": first, "b": second}) == {"a": "10.0.0.1", "b": "10.0.0.2"}
    assert addresses({"a": first, "b": of("a", "b", rank=1)}) == {}
    assert addresses({"a": first, "b": None}) == {}
