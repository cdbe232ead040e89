"""Who listens on a TCP port of this machine?"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from orchestrator.on_host.ports import sock_diag
from orchestrator.on_host.processes import procs

UNPRIVILEGED, LAST_PORT = 1024, 65535
_LISTEN = "0A"  # TCP_LISTEN, include/net/tcp_states.h


@dataclass(frozen=True)
class Listener:
    """One listening socket: its address, port, owner's uid, and inode."""

    address: str
    port: int
    uid: int
    inode: int


def parse_address(text: str) -> str:
    """An address of /proc/net/tcp{,6}: 32-bit words, each in the byte order of a little-endian host."""
    words = [text[start : start + 8] for start in range(0, len(text), 8)]
    return sock_diag.address(b"".join(bytes.fromhex(word)[::-1] for word in words))


def parse(text: str) -> list[Listener]:
    """The listening sockets in the text of /proc/net/tcp or /proc/net/tcp6."""
    listeners = []
    for line in text.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 9 and fields[3] == _LISTEN:
            address, _, port = fields[1].rpartition(":")
            with contextlib.suppress(ValueError):
                listeners.append(
                    Listener(parse_address(address), int(port, 16), int(fields[7]), int(fields[9]))
                )
    return listeners


def answering(listeners: Iterable[Listener], host: str, port: int) -> list[Listener]:
    """Those that a connection to host and port may reach: the kernel prefers the exact address."""
    on_port = [listener for listener in listeners if listener.port == port]
    exact = [
        listener for listener in on_port if listener.address == ("127.0.0.1" if host == "localhost" else host)
    ]
    return exact or [listener for listener in on_port if listener.address in ("0.0.0.0", "::")]


def owners(inodes: Iterable[int], first: Iterable[int] = ()) -> list[int]:
    """The processes that hold these sockets; `first` are looked at first, and alone if they hold any."""
    wanted = {f"socket:[{inode}]" for inode in inodes}

    def holds(pid: int) -> bool:
        try:
            numbers = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            return False
        return any(procs.read_link(f"/proc/{pid}/fd/{number}") in wanted for number in numbers)

    likely = [pid for pid in first if holds(pid)]
    if likely or not wanted:
        return likely
    return [pid for pid in sorted(map(int, filter(str.isdecimal, os.listdir("/proc")))) if holds(pid)]


def everywhere() -> list[Listener]:
    """Every listening socket: as the kernel answers, or where it does not (gVisor, a sandbox) as its files say."""
    try:
        return [Listener(*socket) for socket in sock_diag.listening()]
    except OSError:
        return in_files()


def in_files() -> list[Listener]:
    text = [procs.read_bytes(f"/proc/net/{table}").decode() for table in ("tcp", "tcp6")]
    return [listener for part in text for listener in parse(part)]


def listening(host: str, port: int) -> list[Listener]:
    return answering(everywhere(), host, port)


def free_port(taken: int) -> int | None:
    """The next port above one that is taken on which nobody listens, else the lowest unprivileged one."""
    held = {listener.port for listener in everywhere()}
    above = range(max(taken + 1, UNPRIVILEGED), LAST_PORT + 1)
    return next((port for port in (*above, *range(UNPRIVILEGED, taken)) if port not in held), None)


def occupant(host: str, port: int, members: Iterable[int]) -> dict[str, Any] | None:
    """Who answers on a port: {ours, pid, command, user, since}, or None where nobody listens.

    Several sockets may share a port (SO_REUSEPORT, which vLLM set always up to 0.24.0): then a foreign
    one is named, since it may get our requests. `pid`, `command` and `since` are None, and `ours` is
    False, where the owner cannot be seen (another user's process).
    """
    ours = set(members)
    answer = None
    for listener in listening(host, port):
        holding = owners([listener.inode], sorted(ours))
        pid = holding[0] if holding else None
        process = procs.process(pid) if pid is not None else None
        answer = {
            "ours": pid in ours,
            "pid": pid,
            "command": procs.command(pid) if pid is not None else None,
            "user": procs.user(listener.uid),
            "since": procs.since(process) if process else None,
        }
        if not answer["ours"]:
            return answer
    return answer
