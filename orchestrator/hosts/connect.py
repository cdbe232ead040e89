"""How does the text after `--host` become a host with an open connection?

The SSH libraries are imported where they are first needed: `local` and every command without a host
start without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.hosts.host import Host
from orchestrator.hosts.local import LocalHost
from orchestrator.hosts.target import parse_target


def open_host(
    text: str,
    *,
    ssh_config: str | None = None,
    accept_host_keys: Sequence[str] = (),
    timeout: float = 10.0,
) -> Host:
    """Connect to `local` or to what ssh would reach by that name.

    `ssh_config` replaces the person's own configuration file; `accept_host_keys` are `SHA256:...`
    fingerprints of host keys, on any hop, that may be recorded as known; `timeout` in seconds holds for
    each step of connecting to each hop. Raises UsageError (`host_name`, `ssh_config`,
    `host_key_fingerprint`) and HostError (`host_unreachable`, `host_key_unknown`, `host_key_changed`,
    `host_key_revoked`, `auth_refused`).
    """
    target = parse_target(text)
    if target.is_local:
        return LocalHost()

    from orchestrator.hosts.many import resolve
    from orchestrator.hosts.route import route
    from orchestrator.hosts.trust import read_fingerprints

    accepted = read_fingerprints(accept_host_keys)
    way = tuple(
        replace(hop, config=ssh_config) for hop in route(target, lambda hop: resolve(hop, ssh_config))
    )

    from orchestrator.hosts.hops import connect

    return connect(text, way, accepted, timeout)
