"""What are the three pipes of a running program, wherever it runs?"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod

from orchestrator.base.errors import HostError


class Pipes(ABC):
    """Standard input, output and error of one running program.

    `until` is a moment of `time.monotonic()`, in seconds; None waits for ever. Past it `TimeoutError`
    is raised.
    """

    @abstractmethod
    def send(self, data: bytes, until: float | None = None) -> None:
        """Write all of `data`; raises OSError where the program no longer reads."""

    @abstractmethod
    def end_input(self) -> None:
        """Close standard input."""

    @abstractmethod
    def receive(self, until: float | None = None) -> tuple[bytes, bytes] | None:
        """Some output and some error output, at least one not empty; None when both have ended."""

    @abstractmethod
    def status(self, until: float | None = None) -> int:
        """The exit status (128 + N for signal N) after the output ended; raises HostError("connection_lost")."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the program; wakes a thread that waits in `receive`. Harmless when repeated."""

    @abstractmethod
    def discard(self) -> None:
        """Close pipes whose program may hang."""


def moment(seconds: float) -> float:
    """The moment of `time.monotonic()` that many seconds from now."""
    return time.monotonic() + seconds


def remaining(until: float | None) -> float | None:
    """Seconds left; raises TimeoutError when there are none."""
    if until is None:
        return None
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def deadline_passed(host: str, seconds: float, subject: str) -> HostError:
    return HostError(
        "deadline",
        f"{host} did not finish {subject} within {seconds:g} s.",
        next_command=f"uptime  # on {host}: it answers too slowly; the same command resumes",
    )


def connection_lost(host: str, reason: str = "") -> HostError:
    return HostError(
        "connection_lost",
        f"The connection to {host} was lost{': ' + reason if reason else ''}.",
    )
