"""How are the words of a gate looked for in a log whose lines hold some of them all the time?

As single words first. One that thousands of lines hold without telling anything is looked for with what the expressions
that need it hold besides, and not at all for those of which enough was seen; one that thousands of lines hold which only
count is left to who asks for it. When another launch begins, all of it is looked for again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from orchestrator.diagnosis.gate import Gate, Hit, Narrowed

FREQUENT = 4000
"""Lines that a word was found in for nothing: asking them took as long as it takes to make another database."""

_NOTHING: tuple[frozenset[int], frozenset[str], frozenset[int]] = (frozenset(), frozenset(), frozenset())


class Search:
    """Looks for a gate's words; `silent` says of an expression whether one more line that fits it changes nothing."""

    def __init__(self, gate: Gate, silent: Callable[[str], bool]) -> None:
        self._gate = gate
        self._silent = silent
        self._narrowed: Narrowed | None = None
        self._by = _NOTHING
        """The frequent words, the expressions that are not looked for any more, and the words that are left out."""
        self._for_nothing: Counter[int] = Counter()
        self._counting: Counter[int] = Counter()
        self.left_out: dict[int, bytes] = {}
        """The words that `hits` does not give, since lines that hold them only count mostly."""

    def hits(self, block: bytes, start: int) -> list[Hit]:
        """The words that were found in `block` behind `start`, in the order of their offsets."""
        return (self._narrowed or self._gate).hits(block, start)

    def told_nothing(self, words: Iterable[int]) -> None:
        """A line with these words changed nothing."""
        for word in words:
            self._for_nothing[word] += 1
            if self._for_nothing[word] == FREQUENT:
                self._narrow()

    def only_counted(self, words: tuple[int, ...]) -> None:
        """A line that holds these words, and no other, did nothing but count."""
        if len(words) == 1:
            self._counting[words[0]] += 1
            if self._counting[words[0]] == FREQUENT:
                self._narrow()

    def widen(self) -> bool:
        """Look for everything again; whether something was left out."""
        narrowed, self._narrowed, self._by = self._narrowed, None, _NOTHING
        self._for_nothing.clear()
        self._counting.clear()
        self.left_out = {}
        return narrowed is not None

    def _narrow(self) -> None:
        # others that are nearly as frequent are taken along: each database takes as long to make as 100 MB to search
        frequent = self._by[0] | _often(self._for_nothing)
        counting = _often(self._counting) - frequent
        silent = frozenset(
            pattern for each in frequent for pattern in self._gate.needing(each) if self._silent(pattern)
        )
        if (frequent, silent, counting) == self._by:
            return
        self._narrowed = self._gate.narrowed(frequent, silent, counting)
        self._by = frequent, silent, counting
        self.left_out = {each: self._gate.text(each) for each in counting if self._narrowed is not None}
        for each in frequent:
            self._for_nothing[each] = 0


def _often(counts: Counter[int]) -> frozenset[int]:
    return frozenset(word for word, count in counts.items() if count >= FREQUENT // 4)
