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


class Read(Protocol):
    """What has a reading of the launch in question."""

    reading: Reading


D = TypeVar("D", bound=Read)
T = TypeVar("T")

UNASKED = ("connection_lost", "deadline")
"""Errors after which the host is not asked again: it does not answer."""


def names_what_lives(verb: Callable[[D], T]) -> Callable[[D], T]:
    """Let the error with which a verb leaves say what lives on (`left` of it)."""

    @functools.wraps(verb)
    def carried_out(deployment: D) -> T:
        try:
            return verb(deployment)
        except DeployError as error:
            if not _is_silent(error):
                error.left = _left(deployment)
            raise
        except Exception as error:  # a mistake of ours, or a person who left at a question
            vars(error)["left"] = _left(deployment)
            raise

    return carried_out


def _is_silent(error: DeployError) -> bool:
    """Whether there is nothing to tell: nothing was done, somebody else is at work on the launch, or no host answers."""
    return isinstance(error, (UsageError, Locked)) or (isinstance(error, HostError) and error.code in UNASKED)


def _left(deployment: Read) -> dict[str, Any] | None:
    """What lives."""
    job = deployment.reading.job
    try:
        living = ask(job.host, Leftovers(instance=job.name))
    except DeployError:  # what led here says more
        return None
    return living.as_json() if living else None
