"""How does work that goes on by itself on a host stand, and how is it followed to its end?

What `on_host/state/detached.py` answers, whatever the work is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeVar

from orchestrator.programs.request import Stored, Value

FIRST_POLL_SECONDS = 0.1
POLL_SECONDS = 1.0


class ErrandFault(Stored):
    """A code of the work's own errors on the host, and what went wrong."""

    code: str
    message: str


class FailedErrand(Stored):
    """Work that did not end well, and why: the last line of its progress."""

    error: ErrandFault


class ErrandStanding(Value):
    """How it stands; `room` is the folder of its log."""

    state: Literal["started", "running", "done", "failed", "stopped", "none"]
    room: str

    @property
    def goes_on(self) -> bool:
        return self.state in ("started", "running")


S = TypeVar("S", bound=ErrandStanding)


def spoken(line: Any) -> Any:
    """A line without a word stands for none yet."""
    return line or None


def standings(first: S, again: Callable[[], S], proceed: Callable[[], None]) -> Iterator[S]:
    """How it stands, asked again until it goes on no more; `proceed` raises where it is to be left alone."""
    answer, pause = first, FIRST_POLL_SECONDS
    yield answer
    while answer.goes_on:
        time.sleep(pause)
        proceed()
        pause = min(2 * pause, POLL_SECONDS)
        answer = again()
        yield answer
