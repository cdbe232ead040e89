"""Values that remedies work out: arithmetic over named numbers, and nothing else."""

from __future__ import annotations

import pytest

from orchestrator.patches import formula

KNOWN = {"estimate": 30725.0, "needed": 21.0, "available": 8.83, "tp": 8.0, "nothing": 0.0}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("floor(estimate, 16)", 30720),
        ("floor(22.61 / 23.99 - 0.01, 0.01)", 0.93),
        ("ceil(estimate, 1024)", 31744),
        ("divisor(12, tp)", 6),
        ("unknown or 0.9", 0.9),
        ("tp or 0.9", 8),
        ("nothing or 3", 0.0),
        ("unknown + 1", None),
        ("available / needed > 0.4", True),
        ("needed > 1 and available > 10", False),
        ("needed > 1 and unknown > 10", None),
        ("not tp > 4", False),
        ("tp / nothing", None),
        ("divisor(12, nothing)", None),
        ("max(min(tp, 4), -1)", 4),
    ],
)
def test_what_it_comes_to(text: str, value: float | bool | None) -> None:
    assert formula.evaluate(formula.check(text), KNOWN.get) == value


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "a.b",
        "a[0]",
        "'text'",
        "1 < 2 < 3",
        "floor(1)",
        "lambda: 1",
        "max(1, 2, default=3)",
        "a +",
        "a if b else c",
        "",
    ],
)
def test_more_than_arithmetic_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"formula|not understood"):
        formula.check(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("30,720.", 30720),
        ("0.90", 0.9),
        ("131072", 131072),
        ("128K", 131072),
        ("128k", 128000),
        ("-1", -1),
        ("auto", None),
        ("12 GiB", None),
        ("", None),
        (None, None),
    ],
)
def test_numbers_as_logs_and_command_lines_write_them(text: str | None, value: float | None) -> None:
    assert formula.number(text) == value


def test_a_value_is_shown_as_an_option_takes_it() -> None:
    assert [formula.shown(value) for value in (30720.0, 0.93, 0.1 + 0.2)] == ["30720", "0.93", "0.3"]


@pytest.mark.parametrize("text", ["9" * 400, "-" + "9" * 400 + "M"])
def test_a_number_beyond_all_bounds_is_none(text: str) -> None:
    assert formula.number(text) is None


def test_a_divisor_is_not_looked_for_for_hours() -> None:
    assert formula.evaluate("divisor(n, n - 1)", lambda _: 1e15) is None


@pytest.mark.parametrize(
    "text",
    [
        "-" * 3000 + "1",
        "-" * 300 + "1",
        "not " * 90 + "1",
        "(" * 3000 + "1" + ")" * 3000,
        "+".join(["1"] * 20_000),
        "1" + "*9" * 190,
        "9" * 5000,
        "9**9**9",
    ],
)
def test_a_formula_without_bounds_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"allowed|no formula|not understood"):
        formula.check(text)


@pytest.mark.parametrize(
    "text",
    [
        "a * a",
        "a * 1e300",
        "floor(a * a, 1)",
        "a * a - a * a",
        "1e999",
        "9" * 400,
        "9" * 190 + "*" + "9" * 190,
    ],
)
def test_what_is_no_number_any_more_is_not_known(text: str) -> None:
    assert formula.evaluate(formula.check(text), lambda _: 1e200) is None
