"""What does it mean when a hop could not be opened?"""

from __future__ import annotations

import shlex
import socket

from paramiko import ChannelException
from paramiko.auth_strategy import AuthFailure
from paramiko.ssh_exception import AuthenticationException, IncompatiblePeer, SSHException

from orchestrator.base.errors import HostError
from orchestrator.hosts.keys import Offers
from orchestrator.hosts.route import Hop


class TransportFault(Exception):
    """A fault below SSH while connecting: nothing was asked of the host yet, so it may be tried again."""


def meaning(
    error: BaseException, hop: Hop, through: str | None, offers: Offers, printed: str
) -> BaseException:
    """An error for the person, or a TransportFault.

    `through` names the jump host before this hop; `printed` is what a ProxyCommand said.
    """
    if isinstance(error, HostError):
        return error
    if isinstance(error, AuthFailure) and not _was_judged(error):
        return TransportFault(printed or "the connection broke during authentication")
    if isinstance(error, AuthenticationException):
        return auth_refused(hop, offers, "")
    if isinstance(error, ChannelException):
        return unreachable(hop, through, f"the jump host cannot open it ({error.text.lower()})")
    if isinstance(error, socket.gaierror) and error.errno != socket.EAI_AGAIN:
        return unreachable(hop, through, "its name cannot be resolved")
    if isinstance(error, UnicodeError):  # from the "idna" codec, before anybody is asked
        return unreachable(hop, through, "no host can have such a name")
    if isinstance(error, IncompatiblePeer):
        return unreachable(hop, through, f"no common algorithm: {error}")
    if isinstance(error, TimeoutError):
        return unreachable(hop, through, "timed out")
    if isinstance(error, (SSHException, OSError, EOFError)):
        return TransportFault(printed or _plain(error))
    return error


def unreachable(hop: Hop, through: str | None, reason: str) -> HostError:
    resolved = hop.resolved
    known_as = f" ({hop.name})" if hop.name != resolved.hostname else ""
    return HostError(
        "host_unreachable",
        f"{resolved.hostname} port {resolved.port}{known_as} cannot be reached"
        f"{f' through {through}' if through else ''}: {reason.rstrip('.')}.",
        next_command=hop.by_hand,
    )


def auth_refused(hop: Hop, offers: Offers, reason: str) -> HostError:
    resolved = hop.resolved
    tried = ", ".join(offers.tried) or "no key was found"
    locked = f"; a passphrase locks {', '.join(offers.locked)}" if offers.locked else ""
    return HostError(
        "auth_refused",
        f"{resolved.hostname} port {resolved.port} refused user {resolved.user}"
        f"{f': {reason}' if reason else ''} (tried: {tried}{locked}).",
        next_command=f"ssh-add {shlex.quote(offers.locked[0])}" if offers.locked else hop.by_hand,
    )


def _was_judged(error: AuthFailure) -> bool:
    """Whether the server said no to at least one offer."""
    return any(isinstance(attempt.result, AuthenticationException) for attempt in error.result)


def _plain(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error) or "the connection was closed"
