"""Which stacks have processes of a launch dumped into its folder?"""

from __future__ import annotations

from orchestrator.programs.request import Request, Value


class DumpFile(Value):
    """The end of a file that holds dumps of one process, and how long ago it was written."""

    name: str
    age_seconds: float
    text: str


class Dumped(Value):
    """Those that were written last."""

    files: tuple[DumpFile, ...]


class ReadStacks(Request[Dumped]):
    """`names` is a shell pattern."""

    program = "stacks"

    instance: str
    launch: int
    names: str
