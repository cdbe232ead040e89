"""Where in a block of a log may something be told, and what? Everywhere else nothing needs to be read.

Hyperscan looks for some hundred words at memory speed; where it does not run, the standard library does, word by word. The
words name the expressions of which a line is then asked whether it may fit; of most lines that only look telling nothing
is left. A word that many such lines hold is looked for with what its expressions need besides (`Narrowed`).
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache

from orchestrator.diagnosis.loosened import loosened
from orchestrator.diagnosis.pieces import Pieces
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
        self._sought = tuple(map(_as_json_spells_it, words))
        encoded = [word.encode() for word in self._sought]
        self.plain = all(map(_plain, self._sought))
        """Whether JSON spells every word as it is, but for escapes by number."""
        self._database = _Database(dict(enumerate(encoded))) if hyperscan is not None and encoded else None

    @cached_property
    def _longer(self) -> dict[int, list[tuple[int, bytes, int]]]:
        """Word by word, one that holds another one is looked for where that was found."""
        encoded = [word.encode() for word in self._sought]
        return {
            at: [(longer, other, other.index(word)) for longer, other in enumerate(encoded) if word in other]
            for at, word in enumerate(encoded)
            if not any(other != word and other in word for other in encoded)
        }

    @property
    def words(self) -> tuple[bytes, ...]:
        """What is looked for word by word."""
        return tuple(self._sought[at].encode() for at in self._longer)

    def hits(self, block: bytes, start: int = 0) -> list[Hit]:
        """The words that were found in `block` behind `start`, in the order of their offsets."""
        if self._database is not None:
            return sorted(self._database.hits(block, start))
        hits: list[Hit] = []
        for at_word, longer in self._longer.items():
            word = self._sought[at_word].encode()
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

    def needing(self, word: int) -> tuple[str, ...]:
        """The expressions that need the word."""
        return self._needing[word]

    def text(self, word: int) -> bytes:
        """What is looked for in a block for that word."""
        return self._sought[word].encode()

    def places(self, word: int, block: bytes, start: int) -> list[Hit]:
        """Where that word stands behind `start`, as `hits` would tell."""
        text = self.text(word)
        return [(place.end() - 1, word) for place in re.compile(re.escape(text)).finditer(block, start)]

    def narrowed(
        self, frequent: Collection[int], silent: Collection[str], left_out: Collection[int] = ()
    ) -> Narrowed | None:
        """The same without the words in `left_out` and the expressions in `silent`, and with what else they need of those
        that need a word in `frequent`; None where Hyperscan does not run."""
        if self._database is None:
            return None
        words = {
            at: word.encode()
            for at, word in enumerate(self._sought)
            if at not in frequent and at not in left_out
        }
        pieces = {
            (each or (self._sought[at],), at): None
            for at in sorted(frequent)
            for pattern in self._needing[at]
            if pattern not in silent
            for each in loosened(pattern).pieces(self._needed[at])
        }
        return Narrowed(words, list(pieces))

    def of_message(self, message: str) -> list[str]:
        """The expressions that need a word of this message."""
        return self._by_words(word for _, word in self.hits(message.encode("utf-8", "replace")))

    def _by_words(self, words: Iterable[int]) -> list[str]:
        return list(dict.fromkeys(pattern for word in words for pattern in self._needing[word]))


def _plain(word: str) -> bool:
    """Whether JSON spells a word as it is, but for escapes by number."""
    return not word.isascii() or json.dumps(word) == f'"{word}"'


def _as_json_spells_it(word: str) -> str:
    """The longest part of a word that is long enough and stands in JSON as it is, the word itself where there is none."""
    if _plain(word):
        return word
    part = max(re.split(r'["\\\x00-\x1f\x7f]', word), key=len)
    return part if len(part) >= SHORTEST_WORD else word


def _escapes(line: bytes) -> bool:
    """Whether a quotation mark may be spelt otherwise in it: in JSON and in logfmt."""
    return b"\\" in line and (line.count(b"\\") > 1 or _END not in line)


@lru_cache(maxsize=8)
def gate_of(patterns: tuple[str, ...]) -> Gate:
    """The gate for these expressions, which takes milliseconds to make."""
    return Gate(patterns)


class Narrowed:
    """A gate's search with some of its words replaced by pieces that must stand in a line one behind the other."""

    def __init__(self, words: Mapping[int, bytes], pieces: Sequence[tuple[Pieces, int]]) -> None:
        self._words = _Database(words)
        self._of_piece = [word for _, word in pieces]
        behind = [r"[^\n]*".join(re.escape(piece) for piece in each).encode() for each, _ in pieces]
        self._pieces = _Database(dict(enumerate(behind)), literal=False) if behind else None

    def hits(self, block: bytes, start: int = 0) -> list[Hit]:
        """As those of the gate."""
        hits = self._words.hits(block, start)
        if self._pieces is not None:
            hits += [(at, self._of_piece[piece]) for at, piece in self._pieces.hits(block, start)]
        return sorted(hits)


class _Database:
    """What Hyperscan looks for: words, or expressions, each with its number."""

    def __init__(self, sought: Mapping[int, bytes], *, literal: bool = True) -> None:
        self._database = hyperscan.Database()
        self._database.compile(
            expressions=list(sought.values()),
            ids=list(sought),
            elements=len(sought),
            flags=0,
            literal=literal,
        )
        self._database.scratch = hyperscan.Scratch(self._database)
        self._scanning = threading.Lock()  # it has one scratch, and serves the logs of several hosts

    def hits(self, block: bytes, start: int) -> list[Hit]:
        hits: list[Hit] = []

        def take(number: int, _from: int, to: int, _flags: int, _context: object) -> None:
            hits.append((start + to - 1, number))

        with self._scanning:
            # its types do not know that it takes any buffer, and a slice of bytes would be copied
            self._database.scan(memoryview(block)[start:], match_event_handler=take)  # type: ignore[type-var]
        return hits
