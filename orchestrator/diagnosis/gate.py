"""Where in a block of a log may something be told, and what? Everywhere else nothing needs to be read.

Hyperscan looks for some hundred words at memory speed; where it does not run, the standard library does, word by word. The
words name the expressions of which a line is then asked whether it may fit; of most lines that only look telling nothing
is left.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Sequence
from functools import lru_cache

from orchestrator.diagnosis.loosened import loosened
from orchestrator.patches.literals import SEEN, SHORTEST_WORD, words_of

try:
    import hyperscan
except ImportError:
    hyperscan = None  # type: ignore[assignment]


_END = b'\\n"'
"""How a record of docker's own log files ends."""
Hit = tuple[int, int]
"""An offset inside a word that was found, and which word."""


class Gate:
    """The places at which one of the expressions may fit: all at which one does, and some more.

    Raises ValueError for an expression that fits texts without any word of its own.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        words: dict[str, dict[str, None]] = {}
        for pattern in patterns:
            needed = words_of(pattern)
            if not needed or min(map(len, needed)) < SHORTEST_WORD:
                raise ValueError(f"{pattern!r} fits lines without any word of {SHORTEST_WORD} letters")
            for word in needed:
                words.setdefault(word, {})[pattern] = None
        self._needed = tuple(words)
        self._needing = [tuple(patterns) for patterns in words.values()]
        encoded = [word.encode() for word in words]
        # word by word, one that holds another one is looked for where that was found
        self._longer = {
            at: [(longer, other, other.index(word)) for longer, other in enumerate(encoded) if word in other]
            for at, word in enumerate(encoded)
            if not any(other != word and other in word for other in encoded)
        }
        self.plain = not any(json.dumps(word) != f'"{word}"' for word in words if word.isascii())
        """Whether JSON spells every word as it is, but for escapes by number."""
        self.words = tuple(encoded[at] for at in self._longer)
        self._database = _compiled(encoded) if hyperscan is not None and encoded else None
        self._scanning = threading.Lock()  # a database has one scratch, and serves the logs of several hosts

    def hits(self, block: bytes, start: int = 0) -> list[Hit]:
        """The words that were found in `block` behind `start`, in the order of their offsets."""
        hits: list[Hit] = []
        if self._database is not None:

            def take(word: int, _from: int, to: int, _flags: int, _context: object) -> None:
                hits.append((start + to - 1, word))

            with self._scanning:
                self._database.scan(block[start:], match_event_handler=take)
            return sorted(hits)
        for word, longer in zip(self.words, self._longer.values(), strict=True):
            at = block.find(word, start)
            while at >= 0:
                hits += [
                    (at, which)
                    for which, whole, before in longer
                    if at >= before and block.startswith(whole, at - before)
                ]
                at = block.find(word, at + len(word))
        return sorted(hits)

    def fitting(self, line: bytes, words: Sequence[int]) -> list[str]:
        """The expressions that a message in this raw line may fit, by the words that were found in it."""
        # of a long message the middle is left out, so that it may fit though the line does not
        if len(line) > SEEN or _escapes(line):
            return self._by_words(words)
        text = line.decode("utf-8", "replace")
        fitting: dict[str, None] = {}
        for word in dict.fromkeys(words):
            for pattern in self._needing[word]:
                if pattern not in fitting and loosened(pattern).may_fit(text, self._needed[word]):
                    fitting[pattern] = None
        return list(fitting)

    def of_message(self, message: str) -> list[str]:
        """The expressions that need a word of this message."""
        return self._by_words(word for _, word in self.hits(message.encode("utf-8", "replace")))

    def _by_words(self, words: Iterable[int]) -> list[str]:
        return list(dict.fromkeys(pattern for word in words for pattern in self._needing[word]))


def _escapes(line: bytes) -> bool:
    """Whether a quotation mark may be spelt otherwise in it: in JSON and in logfmt."""
    return b"\\" in line and (line.count(b"\\") > 1 or _END not in line)


@lru_cache(maxsize=8)
def gate_of(patterns: tuple[str, ...]) -> Gate:
    """The gate for these expressions, which takes milliseconds to make."""
    return Gate(patterns)


def _compiled(words: list[bytes]) -> hyperscan.Database:
    database = hyperscan.Database()
    database.compile(
        expressions=words, ids=list(range(len(words))), elements=len(words), flags=0, literal=True
    )
    database.scratch = hyperscan.Scratch(database)
    return database
