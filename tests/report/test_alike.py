"""Hosts by what they say."""

from __future__ import annotations

from orchestrator.report.alike import alike, in_order, named


def test_hosts_that_say_the_same_stand_together_in_the_order_in_which_they_were_named() -> None:
    told = in_order({"c": "x", "a": "X", "b": "y"}, ["a", "b", "c", "d"])
    assert alike(told, str.lower) == [(("a", "c"), "X"), (("b",), "y")]


def test_of_many_hosts_some_are_named() -> None:
    assert named(["gpu7", "gpu8"]) == "gpu7, gpu8"
    assert named([f"gpu{number}" for number in range(100)]).endswith("gpu7 and 92 more")
