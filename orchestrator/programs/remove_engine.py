"""Which engine of our own is taken away, and how much room did that make?"""

from __future__ import annotations

from orchestrator.programs.request import Request, Value


class RemovedEngine(Value):
    """By so many bytes the room on the disk grew."""

    freed_bytes: int


class RemoveEngine(Request[RemovedEngine]):
    """`used` is the consent to remove what the last launch of a deployment used, of which nothing lives."""

    program = "remove_engine"

    engine: str
    version: str
    used: bool
