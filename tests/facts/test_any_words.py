"""Whatever a host says, each parser gives a value or Unknown, and no other fact is lost by it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.facts.gather import every
from orchestrator.facts.source import Output, Query
from tests.facts.cases_of import CASES

FACTS = {fact.name: fact for fact in every()}
LINES = {
    fact: sorted(
        {line for path in (CASES / fact).glob("*.txt") for line in path.read_text().splitlines(True)}
    )
    for fact in FACTS
}


LONG = {
    fact: st.sampled_from(lines).map(lambda line: re.sub(r"\d+", "7" * 5000, line))
    for fact, lines in LINES.items()
}
"""Numbers that int() refuses to read."""


@pytest.mark.parametrize("fact", FACTS)
@given(data=st.data())
def test_nothing_that_is_said_raises(fact: str, data: st.DataObject) -> None:
    """Lines of the cases in any order, cut off anywhere, and anything else between them."""
    lines = st.one_of(st.sampled_from(LINES[fact]), st.text(max_size=60), LONG[fact])
    text = "".join(data.draw(st.lists(lines, max_size=12)))
    cut = data.draw(st.integers(0, len(text)))
    output = Output(data.draw(st.sampled_from([0, 1, 9, 124])), text[:cut], text[cut:])
    FACTS[fact].read(output, Query("/models", "python3"))
