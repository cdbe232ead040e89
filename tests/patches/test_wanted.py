"""What a patch asks of a launch, and when it holds: what nobody said does not fit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from orchestrator.patches.wanted import (
    LinePattern,
    Pattern,
    Specifier,
    Words,
    count_fits,
    fits,
    launch_fits,
    settings_fit,
    version_fits,
)


@dataclass
class Wanted:
    engine: dict[str, tuple[str, ...]] = field(default_factory=dict)
    arguments: dict[str, tuple[str, ...]] = field(default_factory=dict)
    vllm: str | None = None
    compute_cap: tuple[str, ...] = ()
    gpus: str | None = None


@dataclass
class Known:
    engine: dict[str, str] = field(default_factory=lambda: {"dtype": "bfloat16"})
    arguments: dict[str, str] | None = field(default_factory=lambda: {"quantization": "fp8"})
    vllm_version: str | None = "0.16.1"
    compute_cap: str | None = "12.0"
    gpus: int | None = 8


FITTING: list[dict[str, Any]] = [
    {},
    {"engine": {"dtype": ("float16", "bfloat*")}},
    {"arguments": {"quantization": ("fp8",)}},
    {"vllm": ">=0.16,<0.17"},
    {"compute_cap": ("9.0", "12.*")},
    {"gpus": ">1"},
]


@pytest.mark.parametrize("wanted", FITTING)
def test_all_that_is_asked_must_be_known_to_hold(wanted: dict[str, Any]) -> None:
    everything = {key: value for each in FITTING for key, value in each.items()}
    assert launch_fits(Wanted(**wanted), Known())
    assert launch_fits(Wanted(**everything), Known())
    others = Known({"dtype": "auto"}, {"quantization": "awq"}, "0.17.0", "10.0", 1)
    unknown = Known({}, None, None, None, None)
    assert launch_fits(Wanted(**wanted), others) is launch_fits(Wanted(**wanted), unknown) is (wanted == {})
    for name in everything:
        but_one = Known()
        setattr(
            but_one,
            {"vllm": "vllm_version"}.get(name, name),
            getattr(unknown, {"vllm": "vllm_version"}.get(name, name)),
        )
        assert not launch_fits(Wanted(**everything), but_one), name


def test_a_pattern_is_a_shells_and_minds_its_letters() -> None:
    assert fits("fp8_e4m3", ("auto", "fp8*"))
    assert not fits("FP8", ("fp8*",))
    assert not fits("xfp8", ("fp8*",))
    assert not fits(None, ("*",))
    assert not fits("fp8", ())


def test_every_setting_that_is_asked_for_is_known_and_fits() -> None:
    wanted = {"a": ("1",), "b": ("2",)}
    assert settings_fit({"a": "1", "b": "2", "c": "3"}, wanted)
    assert not settings_fit({"a": "1", "b": "3"}, wanted)
    assert not settings_fit({"a": "1"}, wanted)
    assert not settings_fit(None, wanted)
    assert settings_fit(None, {})


@pytest.mark.parametrize(
    ("specifier", "version", "inside"),
    [
        (">=0.14,<0.18", "0.14.0", True),
        (">=0.14,<0.18", "0.18.0", False),
        (">=0.14,<0.18", "0.18.0rc1", False),
        (">=0.18", "0.18.0rc1", True),
        (">=0.18", "0.18.1.dev3+gabc", True),
        (">=0.14", None, False),
        (">=0.14", "nightly", False),
        (">=0.14", "9" * 5000, False),
    ],
)
def test_a_release_candidate_counts_as_its_release(specifier: str, version: str | None, inside: bool) -> None:
    assert version_fits(specifier, version) is inside


def test_a_count_that_nobody_knows_is_not_inside() -> None:
    assert count_fits(">1", 2)
    assert not count_fits(">1", 1)
    assert not count_fits(">=0", None)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("x", ("x",)),
        (["x", True, 8], ("x", "True", "8")),
        (("a",), ("a",)),
        (False, ("False",)),
        (0.9, ("0.9",)),
    ],
)
def test_a_word_of_yaml_is_what_logs_print(value: Any, words: tuple[str, ...]) -> None:
    assert TypeAdapter(Words).validate_python(value) == words


def refused(kind: Any, value: str, *, checked: bool = False) -> str:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(value, context={"checked": checked})
    return str(caught.value)


def test_a_version_specifier_is_one() -> None:
    assert TypeAdapter(Specifier).validate_python(">=0.14,<0.18") == ">=0.14,<0.18"
    assert "'0.14 to 0.18' is no version specifier; allowed: for instance" in refused(
        Specifier, "0.14 to 0.18"
    )


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (Pattern, "(", "'(' is no regular expression ("),
        (Pattern, "x" * 10_001, "has 10001 letters; allowed: 10000"),
        (Pattern, "[[a]", "is no regular expression (Possible nested set"),
        (Pattern, r"(\w+)+ never", "repetitions with an end"),
        (LinePattern, "(", "is no regular expression"),
        (LinePattern, "no ^anchor inside", "has an anchor or a back reference inside"),
        (LinePattern, r"a\\^b letters", "has an anchor or a back reference inside"),
        (LinePattern, "no anchor$ inside", "has an anchor or a back reference inside"),
        (LinePattern, r"(letters)\1", "has an anchor or a back reference inside"),
        (LinePattern, r"(?P<a>letters)(?P=a)", "has an anchor or a back reference inside"),
        (LinePattern, r"\d{1,3}", "fits lines without any word of it; allowed: with"),
        (LinePattern, r"ab", "fits lines without any word of it; allowed: with"),
    ],
)  # fmt: skip
def test_an_expression_that_cannot_be_judged_is_refused_with_what_is_allowed(
    kind: Any, value: str, message: str
) -> None:
    assert message in refused(kind, value)


@pytest.mark.parametrize(
    "value", ["^NCCL WARN .{1,80}: no socket$", r"costs 3\$ a token", "[^a-z] letters", r"[$] letters"]
)
def test_a_line_is_anchored_at_its_ends_alone(value: str) -> None:
    assert TypeAdapter(LinePattern).validate_python(value) == value


def test_what_was_found_right_before_is_not_judged_again() -> None:
    for kind, value in ((Pattern, "("), (LinePattern, "("), (Specifier, "0.14 to 0.18")):
        assert TypeAdapter(kind).validate_python(value, context={"checked": True}) == value


def test_how_many_steps_an_expression_may_take_is_told_in_numbers() -> None:
    message = refused(Pattern, r".*a.*b.*c.*d.*e")
    assert "steps on a text of" in message
    assert "of which 20,000,000 are allowed" in message
    assert "5,000,000 are allowed" in refused(LinePattern, r".*letters.*b.*c.*d.*e")
