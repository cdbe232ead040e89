"""What carries the bytes of a connection to the first hop: TCP, or a ProxyCommand?"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import tempfile
from typing import IO

from orchestrator.hosts.config import Resolved

_SILENCE = 60_000  # milliseconds that sent bytes may stay unacknowledged before the connection is given up


class Carrier:
    """A socket, and what to let go of with it."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock

    def last_words(self) -> str:
        """What the carrier itself says about its end."""
        return ""

    def close(self) -> None:
        self.socket.close()


class ProxyProgram(Carrier):
    """A ProxyCommand at one end of a socket pair: its end is seen at once, unlike with paramiko's own."""

    def __init__(self, command: str) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the program
        ours, theirs = socket.socketpair()
        super().__init__(ours)
        with theirs:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", f"exec {command}"],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=self._errors,
                start_new_session=True,
            )

    def last_words(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace").strip()[-300:]

    def close(self) -> None:
        super().close()
        self._process.terminate()
        self._process.wait()
        self._errors.close()


def carry(resolved: Resolved, timeout: float) -> Carrier:
    """Start what carries the connection; raises OSError. `timeout` in seconds.

    All addresses of the name are tried; paramiko by itself gives up at the first one without a route.
    """
    if resolved.proxy_command:
        return ProxyProgram(resolved.proxy_command)
    sock = socket.create_connection((resolved.hostname, resolved.port), timeout=timeout)
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _SILENCE)
    return Carrier(sock)
