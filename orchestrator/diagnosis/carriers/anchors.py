"""Where in a line does the engine's own text begin, by what nobody else begins a line with?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from orchestrator.diagnosis.lines import Line, parse_all
from orchestrator.diagnosis.origin import shows
from orchestrator.engines.log_grammar import LogGrammar

_OPENING = (
    r"Traceback \(most recent call last\):"
    r"|(?:INFO|WARNING|ERROR): {4,6}(?=[A-Z])"
    r"|\[rank\d{1,5}\]:"
    r"|(?:\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] )?[\w.-]{1,80}:\d{1,10}:\d{1,10} \[-?\d+\] "
    r"|(?:[A-Za-z_]\w{0,80}\.){0,6}(?:[A-Z]\w{0,80}(?:Error|Exception|Interrupt)): "
    r"|[\w./-]{1,80}(?: \w{1,20})?: error: "
    r"|usage: \w"
    r"|(?:docker|nohup|bash|sh|srun|slurmstepd): "
    r"|Loading [a-z]{1,20} checkpoint "
)
_FRAME = re.compile(r' {2,}File "[^"]{1,400}", line \d')
TRACEBACK = "Traceback (most recent call last):"
_LOOKED_AT = 600
"""Signs of a line: what carries it stands before."""


@dataclass(frozen=True)
class Placed:
    """How the engine's beginnings stand in some lines: inside those that are not read as they stand (number of the line,
    offset), behind something that is taken for an own prefix or for another process's words, and how many are clear."""

    inside: tuple[tuple[int, int], ...]
    prefixed: tuple[tuple[int, int], ...]
    clear: int

    @property
    def carried(self) -> bool:
        """Whether most of what the engine says stands behind something else."""
        behind = len(self.inside) + len(self.prefixed)
        return behind > self.clear or (behind > 1 and behind == self.clear)


@dataclass(frozen=True)
class Anchors:
    """The beginnings of one engine's lines: by its `own` headers alone, or by `any` sign of what it runs on as well."""

    own: re.Pattern[str]
    any: re.Pattern[str]

    def start(self, text: str) -> int:
        """Where the engine's text begins in a line, -1 where nothing shows it."""
        opening = self.any.search(text, 0, _LOOKED_AT)
        return opening.start() if opening else -1

    def begins(self, text: str) -> bool:
        """Whether a line begins as one of an engine, or of a traceback, does."""
        return self.any.match(text) is not None or _FRAME.match(text) is not None

    def opens(self, text: str) -> bool:
        """The same where a line may be the rest of one that was broken inside a word: an exception's name shows nothing."""
        return (
            self.own.match(text) is not None or text.startswith(TRACEBACK) or _FRAME.match(text) is not None
        )


def of(grammar: LogGrammar) -> Anchors:
    """The beginnings of the lines of that engine."""
    return _of(grammar.records.opening)


@lru_cache(maxsize=8)
def _of(header: str) -> Anchors:
    before = r"(?<![\w.])"
    return Anchors(re.compile(f"{before}(?:{header})"), re.compile(f"{before}(?:{header}|{_OPENING})"))


def placed(lines: Sequence[str], grammar: LogGrammar) -> Placed:
    """How an engine's lines stand in a text."""
    inside: list[tuple[int, int]] = []
    prefixed: list[tuple[int, int]] = []
    clear = 0
    known = of(grammar)
    for number, text in enumerate(lines):
        opening = known.any.search(text, 0, _LOOKED_AT)
        if opening is None:
            clear += grammar.records.head(text).level is not None
            continue
        records = parse_all(text.encode(), 1, grammar)
        if opening.start() and _left_inside(records, known):
            inside.append((number, opening.start()))
        elif opening.start() and _is_prefixed(text[: opening.start()], records):
            prefixed.append((number, opening.start()))
        elif (records[0].dress or "").startswith("json "):
            continue  # a logger that writes JSON has a header by itself, whatever its messages are
        elif not grammar.records.plain or records[0].level is None or shows(records[0], grammar):
            clear += 1
    return Placed(tuple(inside), tuple(prefixed), clear)


def _is_prefixed(before: str, records: Sequence[Line]) -> bool:
    """Whether what stands before the engine's text was taken for its own prefix, or for words of another process."""
    dress = records[0].dress
    last = before.split()[-1:]
    return records[-1].dress is None or (dress is not None and bool(last) and last[0] in dress.split())


def _left_inside(records: Sequence[Line], known: Anchors) -> bool:
    """Whether something of an engine is left inside of a message.

    A record of the engine's own may quote what it likes; one that a foreign header was taken for has the engine's
    header in it.
    """
    for record in records:
        opening = known.any.search(record.message, 0, _LOOKED_AT)
        own = known.own.search(record.message, 0, _LOOKED_AT)
        if own or (opening is not None and opening.start() and record.level is None):
            return True
    return False
