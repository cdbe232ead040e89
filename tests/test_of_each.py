from __future__ import annotations

import pytest

from tests.of_each import of_each


def test_all_are_asked_and_those_that_fail_are_named() -> None:
    asked = []

    @of_each(["low", "high", "wide"], lambda word: f"the {word} one")
    def check(word: str) -> None:
        asked.append(word)
        assert word == "high", f"{word} is not"

    with pytest.raises(
        AssertionError, match=r"(?s)2 of 3 fail.*the low one:.*low is not.*the wide one:.*wide is not"
    ):
        check()
    assert asked == ["low", "high", "wide"]


def test_none_at_all_is_a_failure() -> None:
    with pytest.raises(AssertionError, match="nothing to ask"):
        of_each([])(lambda member: None)()
