"""Which engine wrote a log?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from orchestrator.diagnosis.lines import Line, cut, read
from orchestrator.engines.log_grammar import LogGrammar

LINES = 1000
"""Of the beginning, in which an engine has said enough."""


def of(beginning: bytes, grammars: Sequence[LogGrammar]) -> LogGrammar:
    """The grammar by which most of the first lines are records of its engine; the first one where none tells more."""
    if len(grammars) == 1:
        return grammars[0]
    lines = list(islice(cut([beginning]), LINES))
    return max(grammars, key=lambda grammar: own(lines, grammar))


def own(lines: Iterable[bytes], grammar: LogGrammar) -> int:
    """How many of these are records of that engine, or begin a launch of it."""
    return sum(_shows(line, grammar) for line in read(lines, grammar))


def _shows(line: Line, grammar: LogGrammar) -> bool:
    start = grammar.start
    if start.begins.match(line.message):
        return True
    if line.level is None:
        return False
    return (
        not grammar.records.plain
        or line.process is not None
        or start.milestones.search(line.message) is not None
    )
