"""What must hold of every grammar by which a log is read, and of the registry that gives it."""

from __future__ import annotations

import pytest

from orchestrator.engines import registry
from orchestrator.engines.log_grammar import LogGrammar
from orchestrator.patches.literals import SHORTEST_WORD, words_of

GRAMMARS = [registry.read(kind).log for kind in registry.kinds()]
each_grammar = pytest.mark.parametrize("grammar", GRAMMARS, ids=lambda grammar: grammar.kind)


@each_grammar
def test_phases_begin_and_end_as_every_launch_does(grammar: LogGrammar) -> None:
    start = grammar.start
    assert (start.phases[0], start.phases[-2:]) == ("starting", ("starting server", "up"))
    assert len(set(start.phases)) == len(start.phases)
    assert {name.replace("_", " ") for name in start.milestones.groupindex} == {*start.phases[1:]}
    assert {*start.counted, *start.silence} <= {*start.phases}


@each_grammar
def test_what_a_block_is_searched_for_has_words(grammar: LogGrammar) -> None:
    start, failures = grammar.start, grammar.failures
    searched = [start.milestones, start.begins, start.stopping, failures.crashes, failures.deaths]
    for pattern in (*(each.pattern for each in searched), *start.details, *start.commands):
        assert min(map(len, words_of(pattern)), default=0) >= SHORTEST_WORD, pattern


@each_grammar
def test_a_line_that_says_nothing_has_no_header_and_tells_nothing(grammar: LogGrammar) -> None:
    head = grammar.records.head("nothing")
    assert (head.level, head.rest, head.prefix) == (None, "nothing", "")
    assert grammar.records.unglue("nothing") == ["nothing"]
    assert grammar.start.commanded("$ ls") is None
    assert grammar.start.portrait("nothing") == grammar.start.detail("nothing")
    assert grammar.refusal("nothing") is None


def test_an_engine_gives_the_grammar_of_its_own_kind() -> None:
    assert registry.USUAL in registry.kinds()
    assert all(registry.read(kind).log.kind == kind for kind in registry.kinds())
