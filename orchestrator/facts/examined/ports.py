"""Which TCP ports are listened on, and by whom?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.facts.source import Command, Fact, Output, Unknown, parsed, plain
from orchestrator.on_host.ports import listeners

# The kernel tells everybody the user of a socket; whose process it is `ss` tells of a user's own alone, and root of all.
_SCRIPT = r"""
PATH="$PATH:/usr/sbin:/sbin"; export PATH
cat /proc/net/tcp /proc/net/tcp6
awk -F: '{ print "user " $3 " " $1 }' /etc/passwd
ss -Hltnp | sed 's/^/ss /'
true
"""

COMMAND = Command.sh(f"exec 2>/dev/null{_SCRIPT}", timeout=10)


@dataclass(frozen=True)
class Port:
    """One port on which somebody listens."""

    port: int
    addresses: tuple[str, ...]
    user: str
    """The name, or the number of a user without one here."""
    pid: int | None
    program: str | None
    """None, as the pid, where this user may not see it."""


def parse(output: Output) -> tuple[Port, ...] | Unknown:
    """From the kernel's tables, by number."""
    sockets = listeners.parse(output.out)
    users = dict(re.findall(r"^user (\d{1,10}) (\S+)$", output.out, re.MULTILINE))
    owners = dict(_owner(line) for line in output.out.splitlines() if line.startswith("ss LISTEN"))
    if "local_address" not in output.out:
        return Unknown("ports_unread", "the host shows no sockets in /proc/net/tcp")
    ports: dict[tuple[int, int], set[str]] = {}
    for socket in sockets:
        ports.setdefault((socket.port, socket.uid), set()).add(socket.address)
    return tuple(
        Port(port, tuple(sorted(addresses)), users.get(str(uid), str(uid)), *owners.get(port, (None, None)))
        for (port, uid), addresses in sorted(ports.items())
    )


FACT = Fact("ports", plain(COMMAND), parsed(parse), tuple[Port, ...], by_line=True)


def _owner(line: str) -> tuple[int, tuple[int | None, str | None]]:
    """`ss LISTEN 0 4096 0.0.0.0:8000 0.0.0.0:* users:(("python3",pid=812,fd=33))`."""
    match = re.search(r':(\d{1,5})\s+\S+(?:\s+users:\(\("(.*?)",pid=(\d{1,10}),)?', line)
    if not match:
        return -1, (None, None)
    return int(match[1]), (int(match[3]) if match[3] else None, match[2])
