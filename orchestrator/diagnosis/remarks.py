"""Which lines of a launch fit the regular expressions that are looked for in its log, by patches above all?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchestrator.diagnosis.lines import Line
from orchestrator.diagnosis.omens import EXPRESSIONS
from orchestrator.patches.literals import search
from orchestrator.patches.patch import Patch

_KEPT = 16
"""Lines kept of each expression in a phase: what is asked is whether there is one, and which was the first."""


class Watched:
    """The expressions of a catalogue; `fitting` gives those that a message fits. The `quiet` ones tell nothing before a failure."""

    def __init__(self, patterns: Iterable[str] = (), quiet: Iterable[str] = ()) -> None:
        asked = dict.fromkeys(patterns)
        self.quiet = frozenset(quiet) - asked.keys()
        self._patterns = {**asked, **dict.fromkeys(quiet)}

    @classmethod
    def of(cls, patches: Sequence[Patch], kind: str) -> Watched:
        """What a catalogue looks for in the log of such an engine, and what may stand beside any failure."""
        concerned = (patch for patch in patches if patch.concerns(kind))
        return cls(
            (each for patch in concerned for match in patch.match for each in match.watched), EXPRESSIONS
        )

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
        self._since: dict[str, int] = {}
        """How many lines of each were kept in this phase."""

    def feed(self, line: Line, among: Iterable[str] | None = None) -> list[str]:
        """Take a line in; gives the expressions that it fits. `among`: what it may fit, where that is known."""
        fitting = self.watched.fitting(line.message, among)
        for pattern in fitting:
            if not self.full(pattern):
                self.lines.setdefault(pattern, []).append(line)
                self._since[pattern] = self._since.get(pattern, 0) + 1
        return fitting

    def full(self, pattern: str) -> bool:
        """Whether no further line of that expression is kept in this phase."""
        return self._since.get(pattern, 0) >= _KEPT

    def turn(self) -> None:
        """Another phase begins: what is said in it may matter though the same was said before."""
        self._since.clear()

    def take_over(self, earlier: Remarks, *, after: int) -> None:
        """What was said behind the end of an earlier launch is said of the next one: 0 takes nothing over."""
        for pattern, lines in earlier.lines.items():
            if late := [line for line in lines if after and line.number > after]:
                self.lines[pattern] = late
