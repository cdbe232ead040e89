"""By which mark is a folder known on other hosts, and whose marks are seen in it?"""

from __future__ import annotations

from orchestrator.programs.request import Request, Value


class Marked(Value):
    """`marked`: whether there is one of its own."""

    marked: bool


class SeenMarks(Value):
    """The marks that are there."""

    seen: tuple[str, ...]


class Marks(Value):
    """What the program is told on a line of its input once all have made theirs."""

    marks: tuple[str, ...]


class SameFolder(Request[Marked | SeenMarks]):
    """The program yields twice, and its mark ends with its input."""

    program = "same_folder"

    folder: str
    mark: str
    seconds: float
