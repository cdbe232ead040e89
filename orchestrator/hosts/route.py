"""Through which hosts does the way to a target lead?"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from orchestrator.base.errors import UsageError
from orchestrator.hosts.config import Resolved
from orchestrator.hosts.target import Target, parse_target

_LONGEST = 16  # hops; a longer way is a loop in ssh_config


@dataclass(frozen=True)
class Hop:
    """One host on the way, as named and as resolved."""

    name: str
    resolved: Resolved
    config: str | None = None
    """The file that replaces the person's own configuration."""

    @property
    def by_hand(self) -> str:
        """The command that shows how far ssh itself gets."""
        target = parse_target(self.name)
        file = ("-F", self.config) if self.config else ()
        port = ("-p", str(target.port)) if target.port else ()
        address = f"{target.user}@{target.host}" if target.user else target.host
        return shlex.join(["ssh", *file, "-v", *port, address])


def route(target: Target, resolve: Callable[[Target], Resolved]) -> tuple[Hop, ...]:
    """The hops from here to the target, the target last; each is resolved by its own configuration.

    As with ssh, the last jump host is reached through the ones named before it, and the first of them
    by its own ProxyJump or ProxyCommand. Raises UsageError("ssh_config") for a loop.
    """
    return _route(target, None, resolve, _LONGEST)


def _route(
    target: Target, jumps: Sequence[str] | None, resolve: Callable[[Target], Resolved], left: int
) -> tuple[Hop, ...]:
    if left == 0:
        raise UsageError(
            "ssh_config",
            f"ProxyJump leads in a loop at {target.text}.",
            next_command=f"ssh -G {shlex.quote(target.text)}",
        )
    resolved = resolve(target)
    named = tuple(resolved.proxy_jump if jumps is None else jumps)
    hop = Hop(target.text, resolved)
    if not named:
        return (hop,)
    *before, last = named
    jump = parse_target(last)
    if _same(resolve(jump), resolved):  # `Host *` with a ProxyJump that is this host itself
        return (hop,)
    return (*_route(jump, before or None, resolve, left - 1), hop)


def _same(hop: Resolved, other: Resolved) -> bool:
    return (hop.hostname, hop.port, hop.user) == (other.hostname, other.port, other.user)
