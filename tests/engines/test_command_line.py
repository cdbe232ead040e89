"""A command line of long options, as Python's argparse reads it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from orchestrator.engines.command_line import (
    abbreviates,
    arguments_of,
    canonical,
    checked_value,
    leaves,
    options,
    rendered,
)


def test_underscores_and_dashes_are_one_before_the_first_dot_and_two_behind_it() -> None:
    assert canonical("max_num-seqs") == "max-num-seqs"
    assert canonical("kernel_config.some_key.x_y") == "kernel-config.some_key.x_y"


def test_no_command_line_has_no_options() -> None:
    assert ([*options([])], dict(arguments_of(()))) == ([], {})


def test_every_option_is_told_with_its_value() -> None:
    argv = ["python", "-m", "vllm", "--a_b", "1", "--switch", "--c=x=y", "--empty=", "--last"]
    assert [*options(argv)] == [("a-b", "1"), ("switch", None), ("c", "x=y"), ("empty", ""), ("last", None)]
    assert arguments_of(tuple(argv)) == {
        "a_b": "1",
        "switch": "True",
        "c": "x=y",
        "empty": "",
        "last": "True",
    }


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("config", '{"a": {"b": 1}, "c": [2, {"d": null}]}', [(("a", "b"), 1), (("c",), 2), (("c", "d"), None)]),
        ("config.a.b", "1", [(("a", "b"), 1)]),
        ("config.a", '{"b": "x"}', [(("a", "b"), "x")]),
        ("config", "no JSON", [((), "no JSON")]),
        ("config", None, [((), "")]),
        ("config", "[" * 100_000, [((), "[" * 100_000)]),
        ("config", "{}", []),
    ],
)  # fmt: skip
def test_each_single_value_is_told_with_its_keys(name: str, value: str | None, found: list[Any]) -> None:
    assert [*leaves(name, value)] == found


def test_an_abbreviation() -> None:
    assert abbreviates("max-num", "max-num-seqs")
    assert abbreviates("max_num_seqs", "max-num-seqs")
    assert not abbreviates("max-num-seqs-x", "max-num-seqs")
    assert not abbreviates("num-seqs", "max-num-seqs")


@pytest.mark.parametrize("value", [True, 0, 1, 0.9, "", "x", [1], {"a": None}])
def test_a_value_that_a_playbook_may_hold(value: Any) -> None:
    assert checked_value(value) == value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (False, "write no-NAME: true"),
        (None, "is empty; allowed: true"),
        (object(), "is empty; allowed: true"),
        ("a\nb", "one line"),
        ("a\rb", "one line"),
        ("a\0b", "one line"),
        (math.inf, "no numbers of JSON"),
        ([math.nan], "no numbers of JSON"),
    ],
)
def test_a_value_that_it_may_not(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        checked_value(value)


@pytest.mark.parametrize(
    ("value", "items"),
    [
        (True, ("--a-b",)),
        (1, ("--a-b", "1")),
        ("x y", ("--a-b", "x y")),
        (-1, ("--a-b=-1",)),
        ("--trust", ("--a-b=--trust",)),
        ({"k": [1, "x"]}, ("--a-b", '{"k":[1,"x"]}')),
    ],
)
def test_an_argument_as_items_of_a_command_line(value: Any, items: tuple[str, ...]) -> None:
    assert rendered("a_b", value) == items
