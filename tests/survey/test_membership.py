"""With which other hosts a launch serves, by its record."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.survey.membership import Membership, membership, part

HEAD, WORKER = Membership(("a", "b"), 0, True, "10.0.0.1"), Membership(("a", "b"), 1, False)


@pytest.mark.parametrize("own", [HEAD, WORKER])
def test_what_is_written_is_read(own: Membership) -> None:
    assert membership({"argv": [], "note": {"group": own.as_json()}}) == own


@pytest.mark.parametrize(
    "group",
    [
        None,
        "a b",
        {"hosts": "ab", "rank": 0, "serves": True},
        {"hosts": ["a"], "rank": 0, "serves": True},
        {"hosts": ["a", 2], "rank": 0, "serves": True},
        {"hosts": ["a", "b" * 300], "rank": 0, "serves": True},
        {"hosts": ["a", "b"], "rank": 2, "serves": True},
        {"hosts": ["a", "b"], "rank": True, "serves": True},
        {"hosts": ["a", "b"], "rank": 0},
        {"hosts": ["a", "b"], "rank": 0, "serves": True, "address": 7},
    ],
)
def test_nothing_else_is_believed(group: Any) -> None:
    assert membership({"note": {"group": group}}) is None


def test_a_launch_without_a_record_serves_alone() -> None:
    for command in (None, {}, {"note": None}):
        assert membership(command) is None


@pytest.mark.parametrize(
    ("there", "names", "lacks"),
    [
        ([None], "a", None),
        ([HEAD, WORKER], "ab", None),
        ([HEAD, WORKER], "xy", None),
        ([HEAD], "a", HEAD),
        ([HEAD, None], "ab", None),
        ([None, WORKER], "cb", WORKER),
        ([HEAD, Membership(("a", "c"), 1, False)], "ac", HEAD),
    ],
    ids=[
        "alone", "whole", "by other names", "its head", "one was stopped", "another host in its place", "of two groups"
    ],
)  # fmt: skip
def test_a_part_is_told_from_the_whole(
    there: list[Membership | None], names: str, lacks: Membership | None
) -> None:
    assert part(there, names) == lacks
