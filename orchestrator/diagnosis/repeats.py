"""Which lines of a progress bar need not be read, because the next one says it again?

Thousands of lines may count shards, downloads or graphs, from several processes in turn. What such a line changes is how far
the launch has come; so of those that follow each other, whatever stands between them, the last is enough.
"""

from __future__ import annotations

from collections.abc import Mapping

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
        self._usual: dict[int, bytes] = {}
        """What stood before a word the last time that all of its lines counted."""

    def forget(self) -> None:
        """Another launch: nothing was said yet."""
        self._known.clear()
        self._usual.clear()
        self._last = None

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

    def takes_all(self, words: Mapping[int, bytes], block: bytes, start: int, end: int) -> bool:
        """Whether every line there that holds one of these words, and no other, counts the same again; the last of them is
        remembered then. Takes a tenth of asking them one by one."""
        if not all(self._count_only(word, text, block, start, end) for word, text in words.items()):
            return False
        last = max(block.rfind(text, start, end) for text in words.values())
        if last >= 0:
            self._last = block.rfind(b"\n", 0, last) + 1, block.find(b"\n", last) + 1
        return True

    def _count_only(self, word: int, text: bytes, block: bytes, start: int, end: int) -> bool:
        if (
            usual := self._usual.get(word)
        ) is not None:  # mostly one process counts: searching twice is enough
            behind = usual + text
            lines = block.count(b"\n" + behind, start, end) + block.startswith(behind, start)
            if block.count(text, start, end) == lines:
                return True
        *parts, _ = block[start:end].split(text)
        before = {part[part.rfind(b"\n") + 1 :] for part in parts}
        if any(((word,), (each + text[:-1]).translate(None, _DIGITS)) not in self._known for each in before):
            return False
        self._usual.update((word, each) for each in before)
        return True

    def take_last(self) -> Stretch | None:
        """Where the last line stands that was not read, once."""
        last, self._last = self._last, None
        return last
