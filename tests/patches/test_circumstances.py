"""What may be done is decided by what is known: what nobody said allows nothing, and forbids nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from orchestrator.patches.circumstances import Circumstances
from orchestrator.patches.when import When

KNOWN = Circumstances(
    vllm_version="0.16.1",
    compute_cap="12.0",
    gpus=8,
    engine={"tp": "8", "dtype": "bfloat16"},
    arguments={"max_num_seqs": "256", "tp": "4"},
    groups={"needed": "3.5", "tp": ""},
    attention="mla",
)
HOLDING: list[dict[str, Any]] = [
    {},
    {"vllm": ">=0.16"},
    {"compute_cap": "12.*"},
    {"gpus": ">1"},
    {"engine": {"dtype": "bfloat16"}},
    {"arguments": {"max_num_seqs": "256"}},
    {"attention": ["mla", "gqa"]},
    {"holds": "needed > 3 and max_num_seqs > 8"},
]
FAILING: list[dict[str, Any]] = [
    {"vllm": "<0.16"},
    {"attention": "gqa"},
    {"holds": "needed > 4"},
    {"holds": "nobody_said > 0"},
    {"vllm": ">=0.16", "holds": "needed > 4"},
]


@dataclass
class Thing:
    when: tuple[When, ...] = ()
    unless: tuple[When, ...] = ()


def of(*given: dict[str, Any]) -> tuple[When, ...]:
    return tuple(When.model_validate(each) for each in given)


@pytest.mark.parametrize("given", HOLDING)
def test_what_is_known_to_hold(given: dict[str, Any]) -> None:
    (when,) = of(given)
    assert KNOWN.hold(when)
    assert KNOWN.allow(Thing(when=(when,)))
    assert not KNOWN.allow(Thing(unless=(when,)))
    nothing = Circumstances()
    assert nothing.hold(when) is nothing.allow(Thing(when=(when,))) is (given == {})
    assert nothing.allow(Thing(unless=(when,))) is (given != {})


@pytest.mark.parametrize("given", FAILING)
def test_what_does_not_hold(given: dict[str, Any]) -> None:
    (when,) = of(given)
    assert not KNOWN.hold(when)
    assert not KNOWN.allow(Thing(when=(when,)))
    assert KNOWN.allow(Thing(unless=(when,)))


def test_one_of_several_is_enough_to_allow_and_enough_to_forbid() -> None:
    yes, no = of({"gpus": "==8"}, {"gpus": "==1"})
    assert KNOWN.allow(Thing())
    assert KNOWN.allow(Thing(when=(no, yes)))
    assert not KNOWN.allow(Thing(unless=(no, yes)))
    assert not KNOWN.allow(Thing(when=(yes,), unless=(yes,)))
    assert not KNOWN.allow(Thing(when=(no,), unless=(no,)))


def test_a_number_is_that_of_the_failure_else_of_the_command_else_of_the_engine() -> None:
    assert KNOWN.number("needed") == 3.5
    assert KNOWN.number("tp") == 4
    assert KNOWN.number("dtype") is None
    assert KNOWN.number("nobody_said") is None
    assert Circumstances(engine={"tp": "8"}).number("tp") == 8


def test_the_gpus_of_a_failure_are_those_it_names() -> None:
    assert KNOWN.number("gpus") == 8
    assert Circumstances(gpus=8, groups={"gpus": "2"}).number("gpus") == 2
    assert Circumstances(arguments={"gpus": "4"}).number("gpus") is None
