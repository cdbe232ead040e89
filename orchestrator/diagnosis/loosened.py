"""Can a raw line hold a message that fits an expression?

Where the message begins is known only once the line is parsed, which costs ten times as much as to ask this. Without its
anchors and looks ahead and back an expression fits wherever the message stands, and some lines more.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from orchestrator.diagnosis.pieces import Pieces, pieces_of
from orchestrator.patches.literals import constants, needed_by, parser

if sys.version_info >= (3, 11):
    from re import _compiler as compiler  # type: ignore[attr-defined]
else:
    import sre_compile as compiler

_CONDITIONS = (constants.AT, constants.ASSERT, constants.ASSERT_NOT)


class Loosened:
    """An expression as its alternatives, each with the words of which a text must hold one to fit it; together they are
    those of the expression (`words_of`).

    An alternative is compiled when its word was seen: most never are.
    """

    def __init__(self, pattern: str) -> None:
        parsed = parser.parse(pattern)
        self._state = parsed.state
        self._ways = [(needed_by(items), items) for items in _alternatives(list(parsed))]
        self._compiled: dict[int, re.Pattern[str]] = {}
        self._of_word: dict[str, list[re.Pattern[str]]] = {}

    def may_fit(self, line: str, word: str) -> bool:
        """Whether a message in this line, which holds the word, may fit by an alternative that needs it."""
        if word not in self._of_word:
            self._of_word[word] = [self._expression(at) for at in self._needing(word)]
        for expression in self._of_word[word]:  # noqa: SIM110 - any() takes longer
            if expression.search(line):
                return True
        return False

    def pieces(self, word: str) -> list[Pieces]:
        """What a message that fits by such an alternative holds in this order: one of these."""
        return [pieces for at in self._needing(word) for pieces in pieces_of(self._ways[at][1])]

    def _needing(self, word: str) -> list[int]:
        return [at for at, (words, _) in enumerate(self._ways) if not words or word in words]

    def _expression(self, at: int) -> re.Pattern[str]:
        if at not in self._compiled:
            loose = parser.SubPattern(self._state, _without_conditions(self._ways[at][1], self._state))
            self._compiled[at] = compiler.compile(loose)
        return self._compiled[at]


@cache
def loosened(pattern: str) -> Loosened:
    """The same, made once."""
    return Loosened(pattern)


def _alternatives(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    if len(items) == 1:
        kind, value = items[0]
        if kind is constants.BRANCH:
            for branch in value[1]:
                yield from _alternatives(list(branch))
            return
        if kind is constants.SUBPATTERN and not (value[1] or value[2]):
            yield from _alternatives(list(value[3]))
            return
    yield items


def _without_conditions(items: Sequence[Any], state: Any) -> list[Any]:
    def within(inner: Any) -> Any:
        return parser.SubPattern(state, _without_conditions(list(inner), state))

    kept = []
    for kind, value in items:
        if kind in _CONDITIONS:
            continue
        if kind is constants.SUBPATTERN:
            value = (*value[:3], within(value[3]))
        elif kind is constants.BRANCH:
            value = (value[0], [within(branch) for branch in value[1]])
        elif kind in (constants.MAX_REPEAT, constants.MIN_REPEAT):
            value = (*value[:2], within(value[2]))
        kept.append((kind, value))
    return kept
