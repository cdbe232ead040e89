"""Which lines of a launch fit the regular expressions that patches look for in its log?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from orchestrator.diagnosis.lines import Line
from orchestrator.remedy.patch import Patch

_KEPT = 16
"""Lines kept of each expression: what a patch asks is whether there is one, and which was the first."""


class Watched:
    """The expressions of a catalogue; `fitting` gives those that a message fits."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self.patterns = tuple(dict.fromkeys(patterns))
        self._compiled = [(literal_of(each), re.compile(each), each) for each in self.patterns]

    @classmethod
    def of(cls, patches: Sequence[Patch]) -> Watched:
        """What a catalogue looks for."""
        return cls(each for patch in patches for match in patch.match for each in match.watched)

    def fitting(self, message: str) -> list[str]:
        """The expressions that the message of a line fits."""
        # a literal that the expression cannot do without is looked for first: most lines hold none
        return [
            each for literal, found, each in self._compiled if literal in message and found.search(message)
        ]


class Remarks:
    """The lines of one launch that fit, by expression."""

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        self.lines: dict[str, list[Line]] = {}

    def feed(self, line: Line) -> None:
        """Take a line in."""
        for pattern in self.watched.fitting(line.message):
            kept = self.lines.setdefault(pattern, [])
            if len(kept) < _KEPT:
                kept.append(line)

    @property
    def found(self) -> Mapping[str, Sequence[Line]]:
        return self.lines


_META = frozenset(".^$*+?{}[]()|\\")
_QUANTIFIERS = frozenset("*?{")


def literal_of(pattern: str) -> str:
    """The longest text without which nothing fits the expression, "" where none was made out."""
    if pattern.startswith("(?") and not pattern.startswith(("(?:", "(?P<", "(?=", "(?!", "(?<")):
        return ""  # flags
    runs, run, depth, position = [""], "", 0, 0
    while position < len(pattern):
        char, step = pattern[position], 1
        if char == "\\" and position + 1 < len(pattern):
            char, step = pattern[position + 1], 2
            plain = not char.isalnum()
        elif char == "[":
            step, plain = _class_length(pattern, position), False
        else:
            plain = char not in _META
            depth += (char == "(") - (char == ")")
            if char == "|" and depth == 0:
                return ""
        optional = pattern[position + step : position + step + 1] in _QUANTIFIERS
        if plain and depth == 0 and not optional:
            run += char
        else:
            runs, run = [*runs, run], ""
        position += step
    return max([*runs, run], key=len)


def _class_length(pattern: str, start: int) -> int:
    """How long the character class is that begins there."""
    position = start + 1 + pattern.startswith("[^", start)
    position += pattern.startswith("]", position)
    while position < len(pattern) and pattern[position] != "]":
        position += 2 if pattern[position] == "\\" else 1
    return position + 1 - start
