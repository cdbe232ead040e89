"""Where in a block of a log may something be told? Everywhere else nothing needs to be read.

Hyperscan looks for some hundred words at memory speed; where it does not run, the standard library does, word by word.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import lru_cache

from orchestrator.patches.literals import SHORTEST_WORD, words_of

try:
    import hyperscan
except ImportError:
    hyperscan = None  # type: ignore[assignment]


class Gate:
    """The places at which one of the expressions may fit: all at which one does, and some more.

    Raises ValueError for an expression that fits texts without any word of its own.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        words: dict[str, None] = {}
        for pattern in patterns:
            needed = words_of(pattern)
            if not needed or min(map(len, needed)) < SHORTEST_WORD:
                raise ValueError(f"{pattern!r} fits lines without any word of {SHORTEST_WORD} letters")
            words.update(dict.fromkeys(needed))
        # a word that holds another one is found with it
        self.words = tuple(
            word.encode() for word in words if not any(other != word and other in word for other in words)
        )
        self._database = _compiled(self.words) if hyperscan is not None and self.words else None
        self._scanning = threading.Lock()  # a database has one scratch, and serves the logs of several hosts

    def hits(self, block: bytes, start: int = 0) -> list[int]:
        """Offsets within `block`, ascending, each inside a word that was found behind `start`."""
        offsets: list[int] = []
        if self._database is not None:

            def take(_id: int, _from: int, to: int, _flags: int, _context: object) -> None:
                offsets.append(start + to - 1)

            with self._scanning:
                self._database.scan(block[start:], match_event_handler=take)
            return sorted(offsets)
        for word in self.words:
            at = block.find(word, start)
            while at >= 0:
                offsets.append(at)
                at = block.find(word, at + len(word))
        return sorted(offsets)


@lru_cache(maxsize=8)
def gate_of(patterns: tuple[str, ...]) -> Gate:
    """The gate for these expressions, which takes milliseconds to make."""
    return Gate(patterns)


def _compiled(words: tuple[bytes, ...]) -> hyperscan.Database:
    database = hyperscan.Database()
    database.compile(
        expressions=list(words), ids=list(range(len(words))), elements=len(words), flags=0, literal=True
    )
    database.scratch = hyperscan.Scratch(database)
    return database
