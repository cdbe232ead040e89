"""On how many hosts may a command be at work at once?"""

from __future__ import annotations

from dataclasses import dataclass

AT_ONCE = 32


@dataclass(frozen=True)
class Breadth:
    """How many hosts are at work at once, and whether the first failure keeps those that have not begun from it."""

    at_once: int = AT_ONCE
    fail_fast: bool = False
