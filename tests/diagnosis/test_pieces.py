"""The pieces that a line must hold, one behind the other, to fit an expression."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.diagnosis.loosened import loosened
from orchestrator.diagnosis.pieces import pieces_of
from orchestrator.patches.literals import parser, words_of
from tests.diagnosis.test_loosened import EVERY


@pytest.mark.parametrize(
    ("pattern", "ways"),
    [
        ("NCCL (?:INFO|WARN) ", [("NCCL ", "INFO"), ("NCCL ", "WARN")]),
        (r"^status (?:137|9)\b", [("status ",)]),  # one letter says nothing, so nothing is asked of that place
        (r"said \"no\" \d+ times", [("said ", "no", " times")]),
        (r"(?:ab.*cd){2}", [("ab", "cd")]),
        (r"(?:ab.*cd)?ef", [("ef",)]),
        (r"(?i:ab) cd", [(" cd",)]),
        (r"aa.bbbb.cc.ddd.eeee", [("bbbb", "ddd", "eeee")]),
        (r"\d+", [()]),
    ],
)  # fmt: skip
def test_they_are_those_of_each_way_in_their_order(pattern: str, ways: list[tuple[str, ...]]) -> None:
    found = pieces_of(list(parser.parse(pattern)))
    assert sorted(found) == sorted(ways)


@settings(max_examples=300)
@given(st.data())
def test_whatever_fits_holds_the_pieces_of_a_word_that_it_holds(data: st.DataObject) -> None:
    pattern = data.draw(st.sampled_from(EVERY), label="pattern")
    text = data.draw(st.from_regex(pattern), label="text")
    ways = [way for word in words_of(pattern) if word in text for way in loosened(pattern).pieces(word)]
    assert any(re.search("[^\n]*".join(map(re.escape, way)), text) for way in ways) or "\n" in text
