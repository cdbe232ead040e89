"""Whether a raw line may hold a message that fits an expression."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.diagnosis.loosened import Loosened, loosened
from orchestrator.diagnosis.remarks import Watched
from orchestrator.diagnosis.scan import _telling
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.patches.literals import words_of
from tests.diagnosis.test_cases import PATCHES

EVERY = (*_telling(GRAMMAR), *Watched.of(PATCHES, GRAMMAR.kind).patterns)


@pytest.mark.parametrize(
    ("pattern", "line", "may"),
    [
        (r"^Killed$", "(Worker pid=7) Killed by", True),
        (r"^Killed$", "killed", False),
        (r"\bstatus 137\b", "a-status 1379", True),
        (r"status (?:137|9)", "status 8", False),
        (r"a(?!b)c+$|(?P<kept>never) seen", "xacc", True),
        (r"(?:^one|two$)+ and (?=more)", "none and x", True),
        (r"(?:^one|two$)+ and (?=more)", "three and more", False),
        (r"(?P<first>one|(?P<second>two)) (?:three)", "two three", True),
        (r"(?P<first>one)|(?P<second>two)", "twofold", True),
        (r"(?i:one)|two", "ONE", True),
        (r"\d{2}", "a1", False),
    ],
)  # fmt: skip
def test_without_its_conditions_an_expression_fits_wherever_the_message_stands(
    pattern: str, line: str, may: bool
) -> None:
    assert may_fit(pattern, line) is may


def may_fit(pattern: str, line: str) -> bool:
    """By any of its words that is there, or without one where it has none."""
    words = [word for word in words_of(pattern) if word in line]
    return any(Loosened(pattern).may_fit(line, word) for word in (words if words_of(pattern) else [""]))


@settings(max_examples=150)
@given(st.data())
def test_whatever_fits_may_fit_with_anything_around_it(data: st.DataObject) -> None:
    pattern = data.draw(st.sampled_from(EVERY), label="pattern")
    text = data.draw(st.from_regex(pattern), label="text")
    around = data.draw(st.sampled_from(["", "x ", "(Worker_TP0 pid=7) ", "\t"]), label="around")
    assert re.search(pattern, text)
    line = around + text + around
    assert any(loosened(pattern).may_fit(line, word) for word in words_of(pattern) if word in line)
