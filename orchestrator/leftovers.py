"""What of a launch lives on when a command gives up, and how is it ended?

Every way out of a verb that launches passes `names_what_lives`: an error never leaves processes, or the memory that they
hold on a GPU, without a word.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from orchestrator.errors import DeployError, HostError, Locked, UsageError, mistake

if TYPE_CHECKING:
    from orchestrator.reading import Reading

R = TypeVar("R", bound="Reading")
T = TypeVar("T")

UNASKED = ("connection_lost", "deadline")
"""Errors after which the host is not asked again: it does not answer."""


def names_what_lives(verb: Callable[[R], T]) -> Callable[[R], T]:
    """Let the error with which a verb leaves say what lives on (`DeployError.left`)."""

    @functools.wraps(verb)
    def carried_out(deployment: R) -> T:
        try:
            return verb(deployment)
        except DeployError as error:
            error.left = _left(deployment, error)
            raise
        except Exception as error:
            told = mistake(error)
            told.left = _left(deployment, told)
            raise told from error

    return carried_out


def _left(deployment: Reading, error: DeployError) -> dict[str, Any] | None:
    """What lives, with the command that ends it; a launch that somebody else is at work on is theirs."""
    if isinstance(error, (UsageError, Locked)) or (isinstance(error, HostError) and error.code in UNASKED):
        return None
    try:
        found: dict[str, Any] | None = deployment.host.script(
            "leftovers", {"playbook": deployment.playbook.name}
        )
    except DeployError:  # what led here says more
        return None
    return {**found, "stop": deployment.stop_command} if found else None
