"""Which engine wrote a log?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from orchestrator.diagnosis.lines import cut, read
from orchestrator.engines.log_grammar import LogGrammar

LINES = 1000
"""Of the beginning, in which an engine has said enough."""


def of(beginning: bytes, grammars: Sequence[LogGrammar]) -> LogGrammar:
    """The grammar by which most of the first lines have a header or begin a launch; the first one where none tells more."""
    if len(grammars) == 1:
        return grammars[0]
    lines = list(islice(cut([beginning]), LINES))
    return max(grammars, key=lambda grammar: _own(lines, grammar))


def wrote(beginning: bytes, grammar: LogGrammar) -> bool:
    """Whether any of the first lines is a record of that engine."""
    return _own(list(islice(cut([beginning]), LINES)), grammar) > 0


def _own(lines: Sequence[bytes], grammar: LogGrammar) -> int:
    """How many of these are records of that engine."""
    begins = grammar.start.begins
    return sum(line.level is not None or bool(begins.match(line.message)) for line in read(lines, grammar))
