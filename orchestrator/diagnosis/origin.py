"""Which engine wrote a log?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import islice

from orchestrator.diagnosis.lines import Line, cut, read
from orchestrator.engines.log_grammar import Failures, LogGrammar

LINES = 1000
"""Of the beginning, in which an engine has said enough."""


def of(beginning: bytes, grammars: Sequence[LogGrammar]) -> LogGrammar:
    """The grammar by which most of the first lines are records of its engine; the first one where none tells more."""
    if len(grammars) == 1:
        return grammars[0]
    lines = list(islice(cut([beginning]), LINES))
    writer, most = grammars[0], 0
    for grammar in grammars:
        if (count := own(lines, grammar)) > most:
            writer, most = grammar, count
        if 2 * most > len(lines):  # no other can have as many
            break
    return writer


def own(lines: Iterable[bytes], grammar: LogGrammar) -> int:
    """How many of these are records of that engine, or begin a launch of it."""
    return sum(shows(line, grammar) for line in read(lines, grammar))


def shows(line: Line, grammar: LogGrammar) -> bool:
    """Whether a line is a record of that engine, or begins a launch of it; what others may have stamped shows nothing."""
    start = grammar.start
    if start.begins.match(line.message):
        return True
    if line.level is None:
        return _says_only_it(line.message, grammar.failures)
    # others write JSON and stamps as well
    anybodys = grammar.records.plain or "json" in (line.dress or "").split()
    named = grammar.records.plain and line.process is not None
    return not anybodys or named or start.milestones.search(line.message) is not None


def _says_only_it(text: str, failures: Failures) -> bool:
    """Whether a line that nobody put a header before is of a traceback through the engine's package, of how it is called, or
    has words that only that engine has."""
    if failures.words is not None and failures.words.search(text):
        return True
    if text.startswith("usage: ") or ": error: " in text:
        return any(program in text for program in failures.programs)
    return 'File "' in text and any(
        _package(program).match(text) is not None for program in failures.programs
    )


@cache
def _package(name: str) -> re.Pattern[str]:
    return re.compile(rf' {{1,80}}File "[^"]{{0,400}}(?:-packages|/python)/{re.escape(name)}/')
