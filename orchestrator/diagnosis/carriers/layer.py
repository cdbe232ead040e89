"""What is one layer around the lines of a log?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol


class Numbered(NamedTuple):
    """A line, and from which one of the file it comes (1-based)."""

    number: int
    text: str


class Layer(Protocol):
    """Something that stands around every line."""

    def peel(self, lines: Iterable[Numbered]) -> Iterator[Numbered]:
        """The lines without it; one may come of several, or several of one."""
        ...
