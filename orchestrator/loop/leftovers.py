"""What of a launch lives on when a command gives up, and how is it ended?

Every way out of a verb that launches passes `names_what_lives`: an error never leaves processes, or the memory that they
hold on a GPU, without a word.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from orchestrator.base.errors import DeployError, HostError, Locked, UsageError
from orchestrator.loop.reading import Reading
from orchestrator.programs.ask import ask
from orchestrator.programs.leftovers import Leftovers
from orchestrator.report.error import living


class Read(Protocol):
    """What has a reading of each launch in question."""

    readings: tuple[Reading, ...]


D = TypeVar("D", bound=Read)
T = TypeVar("T")

UNASKED = ("connection_lost", "deadline")
"""Errors after which the host is not asked again: it does not answer."""


def names_what_lives(verb: Callable[[D], T]) -> Callable[[D], T]:
    """Let the error with which a verb leaves say what lives on (`left` of it). Of a group, each host says it by itself."""

    @functools.wraps(verb)
    def carried_out(deployment: D) -> T:
        try:
            return verb(deployment)
        except DeployError as error:
            if not _is_silent(error, several=len(deployment.readings) > 1):
                error.left = _left(deployment)
            raise
        except Exception as error:  # a mistake of ours, or a person who left at a question
            vars(error)["left"] = _left(deployment)
            raise

    return carried_out


def _is_silent(error: DeployError, *, several: bool) -> bool:
    """Whether there is nothing to tell: nothing was done, somebody else is at work on the launch, or no host answers."""
    lost = isinstance(error, HostError) and error.code in UNASKED and not several
    return lost or isinstance(error, (UsageError, Locked))


def _left(deployment: Read) -> dict[str, Any] | None:
    """What lives on the host; on each of several it is a warning."""
    left = [_living(reading) for reading in deployment.readings]
    if len(left) == 1:
        return left[0]
    for reading, lives in zip(deployment.readings, left, strict=True):
        if lives:
            stop = reading.job.command("stop")
            reading.job.report.emit("warning", f"{living(lives)}; {stop} ends it", left=lives)
    return None


def _living(reading: Reading) -> dict[str, Any] | None:
    try:
        lives = ask(reading.job.host, Leftovers(instance=reading.job.name))
    except DeployError:  # what led here says more
        return None
    return lives.as_json() if lives else None
