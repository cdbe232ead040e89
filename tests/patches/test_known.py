"""What may be done is decided by what is known: what nobody said allows nothing, and forbids nothing."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import pytest

from orchestrator.patches.known import Known
from orchestrator.patches.when import When

KNOWN = Known(
    kind="vllm",
    version="0.16.1",
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
    nothing = Known()
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
    assert Known(engine={"tp": "8"}).number("tp") == 8


def test_the_gpus_of_a_failure_are_those_it_names() -> None:
    assert KNOWN.number("gpus") == 8
    assert Known(gpus=8, groups={"gpus": "2"}).number("gpus") == 2
    assert Known(arguments={"gpus": "4"}).number("gpus") is None


@dataclass
class Wanted:
    engine: dict[str, tuple[str, ...]] = field(default_factory=dict)
    arguments: dict[str, tuple[str, ...]] = field(default_factory=dict)
    vllm: str | None = None
    compute_cap: tuple[str, ...] = ()
    gpus: str | None = None


ASKED: list[dict[str, Any]] = [
    {},
    {"engine": {"dtype": ("float16", "bfloat*")}},
    {"arguments": {"max_num_seqs": ("256",)}},
    {"vllm": ">=0.16,<0.17"},
    {"compute_cap": ("9.0", "12.*")},
    {"gpus": ">1"},
]


@pytest.mark.parametrize("wanted", ASKED)
def test_all_that_is_asked_of_a_launch_must_be_known_to_hold(wanted: dict[str, Any]) -> None:
    everything = {key: value for each in ASKED for key, value in each.items()}
    assert KNOWN.fit(Wanted(**wanted))
    assert KNOWN.fit(Wanted(**everything))
    others = Known("vllm", "0.17.0", "10.0", 1, {"max_num_seqs": "8"}, engine={"dtype": "auto"})
    assert others.fit(Wanted(**wanted)) is Known().fit(Wanted(**wanted)) is (wanted == {})
    for name in everything:
        name = {"vllm": "version"}.get(name, name)
        but_one = replace(KNOWN, **{name: getattr(Known(), name)})
        assert not but_one.fit(Wanted(**everything)), name


def test_what_is_asked_of_one_engines_version_fits_no_other_one() -> None:
    asked = Wanted(vllm=">=0.16")
    assert KNOWN.fit(asked)
    assert not replace(KNOWN, kind="sglang").fit(asked)
    assert not replace(KNOWN, kind=None).fit(asked)


WHOLE = replace(KNOWN, documents={"config.json": {}}, idle_seconds=3.0, ended=True, served=True)
OTHER = Known(
    kind="sglang",
    version="0.5.2",
    compute_cap="9.0",
    gpus=2,
    arguments={"tp": "2"},
    attention="gqa",
    documents={"config.json": {"model_type": "x"}},
    engine={"tp": "2"},
    groups={"needed": "1"},
    idle_seconds=9.0,
    ended=True,
    served=True,
)


def test_what_the_log_says_wins_over_what_is_known_besides() -> None:
    assert WHOLE.over(OTHER) == WHOLE
    assert OTHER.over(WHOLE) == OTHER
    assert Known().over(OTHER) == OTHER.over(Known()) == OTHER


@pytest.mark.parametrize("name", [each.name for each in fields(Known)])
def test_each_fact_that_the_log_does_not_tell_is_the_other_ones(name: str) -> None:
    lacking = replace(WHOLE, **{name: getattr(Known(), name)})
    assert lacking.over(OTHER) == replace(WHOLE, **{name: getattr(OTHER, name)})


def test_a_command_without_arguments_is_known_to_have_none() -> None:
    assert Known(arguments={}).over(OTHER).arguments == {}
