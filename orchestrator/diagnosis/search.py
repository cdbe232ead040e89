"""How are the words of a gate looked for in a log whose lines hold some of them all the time?

As single words first. One that thousands of lines hold without telling anything is looked for with what the expressions
that need it hold besides, and not at all for those of which enough was seen. When another launch begins, all of it is
looked for again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from orchestrator.diagnosis.gate import Gate, Hit, Narrowed

FREQUENT = 4000
"""Lines that a word was found in for nothing: asking them took as long as it takes to make another database."""


class Search:
    """Looks for a gate's words; `silent` says of an expression whether one more line that fits it changes nothing."""

    def __init__(self, gate: Gate, silent: Callable[[str], bool]) -> None:
        self._gate = gate
        self._silent = silent
        self._narrowed: Narrowed | None = None
        self._by: tuple[frozenset[int], frozenset[str]] = (frozenset(), frozenset())
        """The frequent words, and the expressions that are not looked for any more."""
        self._for_nothing: Counter[int] = Counter()

    def hits(self, block: bytes, start: int) -> list[Hit]:
        """The words that were found in `block` behind `start`, in the order of their offsets."""
        return (self._narrowed or self._gate).hits(block, start)

    def told_nothing(self, words: Iterable[int]) -> None:
        """A line with these words changed nothing."""
        for word in words:
            self._for_nothing[word] += 1
            if self._for_nothing[word] == FREQUENT:
                self._narrow(word)

    def widen(self) -> bool:
        """Look for everything again; whether something was left out."""
        narrowed, self._narrowed, self._by = self._narrowed, None, (frozenset(), frozenset())
        self._for_nothing.clear()
        return narrowed is not None

    def _narrow(self, word: int) -> None:
        # others that are as frequent are taken along: each database takes a while to make
        often = (each for each, count in self._for_nothing.items() if count >= FREQUENT // 2)
        frequent = self._by[0] | {word, *often}
        silent = frozenset(
            pattern for each in frequent for pattern in self._gate.needing(each) if self._silent(pattern)
        )
        if (frequent, silent) != self._by:
            self._narrowed, self._by = self._gate.narrowed(frequent, silent), (frequent, silent)
            for each in frequent:
                self._for_nothing[each] = 0
