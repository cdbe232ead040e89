"""Only a group of letters with an end may become a value."""

from __future__ import annotations

import pytest

from orchestrator.patches.form import loose


@pytest.mark.parametrize(
    "group",
    [r"\S+", ".*", ".{1,9}", r"\w+", r"\d*", "[^,]{1,9}", r"\D{3}", "[^x]", r"[\w\s]{1,9}", r"(?:a|.)", "a*", r"\w{1,4000}", "(?s:.)", r"[\W]",
     "[ -~]{1,9}", r"[\x00-\uffff]", "[!-9:-Z^-z]{1,9}"],
)  # fmt: skip
def test_what_can_be_any_text(group: str) -> None:
    assert loose(f"needs (?P<value>{group}) now") == {"value"}
    assert loose(f"(?:needs (?:(x)|(?P<value>{group})))?") == {"value"}


@pytest.mark.parametrize(
    "group",
    [r"\d{1,12}", r"[\w.-]{1,200}", "float16|bfloat16", "[A-Z][A-Z_]{0,60}", "[A-Za-z0-9_.-]{1,9}", r"(?!--)[\w-]{1,80}", r"\w{2}(?:/\w{1,9})?"],
)  # fmt: skip
def test_what_has_a_form(group: str) -> None:
    assert loose(f".* needs (?P<value>{group}).*") == frozenset()


def test_groups_are_judged_each_by_itself() -> None:
    assert loose(r"(?P<a>\S+) (?P<b>\d{1,3}) (?P<c>(?P<d>.))") == {"a", "c", "d"}
