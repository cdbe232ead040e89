"""What a line cannot do without, if an expression is to fit it."""

from __future__ import annotations

import re

import pytest

from orchestrator.patches import literals
from orchestrator.patches.literals import SEEN, remember, search, words_of


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("no socket", ("no socket",)),
        ("^no socket$", ("no socket",)),
        (r"short (?!not )longest words", ("short longest words",)),
        (r"short\d+longer", ("longer",)),
        (r"longer\d+short", ("longer",)),
        (r"first\d+other", ("first",)),
        (r"(?:lowercase|UPPERCASE) end", ("lowercase", "UPPERCASE")),
        (r"(?:ab|abcdef) ending", (" ending",)),
        (r"(?:same|same)x+", ("same",)),
        (r"(?:alpha|\d+)", ()),
        (r"(?:alpha)?beta", ("beta",)),
        (r"(?:alpha)*x", ("x",)),
        (r"(?:alpha)+x", ("alpha",)),
        (r"(?:alpha){2,3}?x", ("alpha",)),
        (r"(?P<name>inside) x", ("inside",)),
        (r"(?i:inside) x", (" x",)),
        (r"(?i)nothing to rely on", ()),
        (r"(?=ahead)x", ("x",)),
        (r"\d+", ()),
        (r"[ab]c", ("c",)),
        (r"one\.two", ("one.two",)),
        (r"", ()),
    ],
)
def test_words(pattern: str, words: tuple[str, ...]) -> None:
    assert words_of(pattern) == words
    assert words_of(pattern) == words  # as remembered


def test_the_surest_of_several_words_is_looked_for() -> None:
    assert words_of(r"(?:abcdef|ghijkl)\d(?:mnopqr)") == ("mnopqr",)


def test_what_is_searched_for_is_found_with_its_groups() -> None:
    found = search(r"NCCL WARN (?P<what>\w+)", "x NCCL WARN Timeout")
    assert found is not None
    assert found["what"] == "Timeout"
    assert search(r"NCCL WARN (?P<what>\w+)", "nccl warn Timeout") is None
    assert search(r"(?:alpha|beta) \d", "of beta 7") is not None
    assert search(r"\d{3}", "12 and 345") is not None


def test_of_a_long_text_the_beginning_and_the_end_count() -> None:
    filling = "." * SEEN
    assert search("needle", "needle" + filling)
    assert search("needle", filling + "needle")
    assert search("needle", filling + "needle" + filling) is None
    assert search(r"edge\Z", "." * (SEEN - 4) + "edge")
    middle = "." * 3996 + "need" + "le" + "." * (SEEN - 4002)
    assert search("needle", middle)
    assert search("needle", middle + ".") is None
    assert search("^end", "." * SEEN + "end") is None
    assert search("(?m)^" + r"\.{1999}$", "." * (SEEN + 1))


def test_an_expression_is_not_even_compiled_where_none_of_its_words_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(pattern: str) -> re.Pattern[str]:
        raise AssertionError(pattern)

    monkeypatch.setattr(literals, "_compiled", refused)
    assert search(r"no such words \d", "something else") is None
    with pytest.raises(AssertionError):
        search(r"no such words \d", "no such words at all")


def test_words_that_were_found_before_are_taken_as_they_were() -> None:
    remember({r"of another run \d+": ["told before"]})
    assert words_of(r"of another run \d+") == ("told before",)
