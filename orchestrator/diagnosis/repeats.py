"""Which lines of a progress bar need not be read, because the next one says it again?

Thousands of lines may count shards, downloads or graphs, from several processes in turn. What such a line changes is how far
the launch has come; so of those that follow each other, whatever stands between them, the last is enough.
"""

from __future__ import annotations

_DIGITS = b"0123456789"
_MOST = 256


Stretch = tuple[int, int]
"""Where in the block a line begins and ends."""


class Repeats:
    """Remembers the lines that counted something by what stands before the words that were found, digits apart: who says it,
    in what dress, of what."""

    def __init__(self) -> None:
        self._last: Stretch | None = None
        self._known: set[tuple[tuple[int, ...], bytes]] = set()

    def forget(self) -> None:
        """Another launch: nothing was said yet."""
        self._known.clear()

    def learn(self, words: tuple[int, ...], before: bytes) -> None:
        """A line with these words, and this before the first one's end, did nothing but count."""
        if len(self._known) < _MOST:
            self._known.add((words, before.translate(None, _DIGITS)))

    def takes(self, words: tuple[int, ...], block: bytes, start: int, hit: int, end: int) -> bool:
        """Whether the line counts the same again; it is remembered as the last then."""
        if not self._known or (words, block[start:hit].translate(None, _DIGITS)) not in self._known:
            return False
        self._last = start, end
        return True

    def take_last(self) -> Stretch | None:
        """Where the last line stands that was not read, once."""
        last, self._last = self._last, None
        return last
