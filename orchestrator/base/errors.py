"""Which errors can a person meet, and with which exit code does each leave?

DeployError
├── UsageError          2   a wrong command line or playbook
├── HostError           3   unreachable, refused key or authentication, lost connection, deadline
├── PreflightRefused    4   the host cannot take this deployment, or a consent is missing
├── CheckpointError     5   download or verification failed
├── LaunchFailed        6   cause known, no automatic remedy left
├── UnknownFailure      7   cause unknown, a bundle was written
├── BudgetSpent         8   hang, ready timeout, or no attempts left
└── Locked              9   another deployer works on this playbook and host
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class DeployError(Exception):
    """An error with a stable code, one sentence, and what leads to the next command to type.

    `code` is stable across releases (snake_case); `message` is one sentence with the names and numbers in it.
    `next_command` is what the person should type now where that is no `deploy` command (`nvidia-smi  # on gpu7`);
    which `deploy` command comes next is made of the code and of what is `known` by name (`cli/hints.py`). Whoever
    knows it on the way adds in which words the deployment was `asked` for (playbook, host, and options that lead to the
    same ones), and what of a launch is `left` alive (`on_host/programs/leftovers.py` says its keys).
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, code: str, message: str, *, next_command: str | None = None, **known: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.next_command = next_command
        self.known = known
        self.asked: str | None = None
        self.left: Mapping[str, Any] | None = None


class UsageError(DeployError):
    """The command line or a playbook or patch file is wrong; nothing was touched."""

    exit_code = 2


class HostError(DeployError):
    """The host cannot be reached, trusted or talked to."""

    exit_code = 3


class PreflightRefused(DeployError):
    """The host cannot take this deployment as it is, or a consent is missing."""

    exit_code = 4


class CheckpointError(DeployError):
    """The checkpoint could not be downloaded, read or verified."""

    exit_code = 5


class LaunchFailed(DeployError):
    """The launch failed for a known reason and no automatic remedy is left."""

    exit_code = 6


class UnknownFailure(DeployError):
    """The launch failed for a reason that no patch knows."""

    exit_code = 7


class BudgetSpent(DeployError):
    """The engine hangs, is not ready in time, or the attempts of this incident are spent."""

    exit_code = 8


class Locked(DeployError):
    """Somebody else deploys the same playbook on the same host right now."""

    exit_code = 9


class Halted(Exception):
    """What is followed on one host of a group is followed no longer: another has failed. Only the group meets it."""


def mistake(error: Exception) -> DeployError:
    """What is told of an exception that nobody foresaw, with what was added to it on the way."""
    internal = DeployError("internal", f"this is a mistake in deploy itself: {error}")
    internal.left, internal.asked = vars(error).get("left"), vars(error).get("asked")
    return internal
