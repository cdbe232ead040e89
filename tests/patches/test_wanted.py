"""What a value may be that a patch asks for, and what fits it: what nobody said does not."""

from __future__ import annotations

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
    settings_fit,
    version_fits,
)


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
