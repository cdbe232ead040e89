"""Which lines of a launch fit the regular expressions that patches look for in its log?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchestrator.diagnosis.lines import Line
from orchestrator.patches.literals import search
from orchestrator.patches.patch import Patch

_KEPT = 16
"""Lines kept of each expression: what a patch asks is whether there is one, and which was the first."""


class Watched:
    """The expressions of a catalogue; `fitting` gives those that a message fits."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._patterns = dict.fromkeys(patterns)

    @classmethod
    def of(cls, patches: Sequence[Patch], kind: str) -> Watched:
        """What a catalogue looks for in the log of such an engine."""
        concerned = (patch for patch in patches if patch.concerns(kind))
        return cls(each for patch in concerned for match in patch.match for each in match.watched)

    @property
    def patterns(self) -> tuple[str, ...]:
        """Each once."""
        return tuple(self._patterns)

    def fitting(self, message: str, among: Iterable[str] | None = None) -> list[str]:
        """The expressions that the message of a line fits; `among`: those that it may fit, where that is known."""
        tried = self._patterns if among is None else [each for each in among if each in self._patterns]
        return [each for each in tried if search(each, message)]


class Remarks:
    """The lines of one launch that fit, by expression."""

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        self.lines: dict[str, list[Line]] = {}

    def feed(self, line: Line, among: Iterable[str] | None = None) -> bool:
        """Take a line in; whether anything was found in it. `among`: what it may fit, where that is known."""
        fitting = self.watched.fitting(line.message, among)
        for pattern in fitting:
            kept = self.lines.setdefault(pattern, [])
            if len(kept) < _KEPT:
                kept.append(line)
        return bool(fitting)

    def full(self, pattern: str) -> bool:
        """Whether no further line of that expression is kept."""
        return len(self.lines.get(pattern, ())) >= _KEPT

    def take_over(self, earlier: Remarks, *, after: int) -> None:
        """What was said behind the end of an earlier launch is said of the next one: 0 takes nothing over."""
        for pattern, lines in earlier.lines.items():
            if late := [line for line in lines if after and line.number > after]:
                self.lines[pattern] = late
