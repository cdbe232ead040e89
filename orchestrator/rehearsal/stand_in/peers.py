"""How do the ranks of one launch meet those on other hosts, and how do they learn that one of those is gone?

The first rank of each other host has a connection to the first rank of all, as Gloo's ranks have: it ends with the process on
either side, and nobody notices before they compute something together.
"""

from __future__ import annotations

import socket
import time

from .printing import PACE, emit
from .settings import StandInSettings

_AGAIN_SECONDS = 0.05
_RETRIED_SECONDS = 136.0
"""How often torch tells that a connection to the head was given up and is tried again."""
FOREVER = 3600.0
TAKEN = (
    "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: {port}, "
    "useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use"
)
MISSING = "torch.distributed.DistStoreError: Timed out after {seconds} seconds waiting for clients. {came}/{of} clients joined."
REFUSED = (
    "RuntimeError: Gloo connectFullMesh failed with [/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:152] "
    "timed out connecting: SO_ERROR: Connection refused, remote=[{head}]:27533$1"
)
GONE = (
    "RuntimeError: [/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer [{peer}]:{port}. "
    "This is typically caused by a remote worker crashing. Check the logs of the remote worker before reporting an error."
)
LATE = (
    "RuntimeError: [/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting {ms}ms "
    "for recv operation to complete"
)
DROPPED = "[c10d] The server socket on [2f40:0:4163:0:7f32::]:4545 has timed out, will retry."


class PeerError(Exception):
    """What torch says of other hosts that cannot be computed with: the last line of a traceback."""


class Peers:
    """The other hosts, for the first rank of this one."""

    def __init__(self, settings: StandInSettings) -> None:
        self._settings = settings
        self._lines: dict[socket.socket, tuple[str, int]] = {}

    def meet(self) -> None:
        """Wait until ranks of every host are there; raises PeerError."""
        if self._settings.nodes == 1:
            return
        if self._settings.node:
            self._join()
        else:
            self._gather()
        for line in self._lines:
            line.settimeout(self._settings.patience)

    def together(self) -> None:
        """Compute something that every host has a part in; raises PeerError."""
        lead = self._settings.node == 0
        if lead:
            self._send(b"c")
        for line in self._lines:
            self._receive(line)
        if not lead:
            self._send(b"c")

    def follow(self) -> None:
        """Compute the head's requests with it, until it is gone: that is not noticed."""
        try:
            while True:
                for line in self._lines:
                    line.settimeout(None)
                self.together()
        except PeerError:
            time.sleep(FOREVER)

    def _gather(self) -> None:
        settings = self._settings
        give_up = time.monotonic() + settings.patience
        try:
            listener = socket.create_server(("", settings.meeting_port))
        except OSError:
            raise PeerError(TAKEN.format(port=settings.meeting_port)) from None
        with listener:
            while len(self._lines) < settings.nodes - 1:
                listener.settimeout(max(0.01, give_up - time.monotonic()))
                try:
                    line, address = listener.accept()
                except TimeoutError:
                    came, seconds = 1 + len(self._lines), round(settings.patience) + 1
                    raise PeerError(MISSING.format(seconds=seconds, came=came, of=settings.nodes)) from None
                if line.recv(1):
                    self._lines[line] = address
                else:  # who only looks whether somebody listens is none of them
                    line.close()
        self._send(b"m")

    def _join(self) -> None:
        settings = self._settings
        give_up = time.monotonic() + settings.patience
        if settings.fault == "firewall-refused":
            raise PeerError(REFUSED.format(head=settings.head))
        while settings.fault == "firewall-dropped":
            time.sleep(max(_RETRIED_SECONDS * PACE, 1.0))
            emit(f"[W{time.strftime('%m%d %H:%M:%S')}.856180937 socket.cpp:938] {DROPPED}\n")
        while not self._lines:
            try:
                line = socket.create_connection((settings.head, settings.meeting_port), settings.patience)
            except OSError:
                if time.monotonic() > give_up:
                    raise PeerError(
                        MISSING.format(seconds=round(settings.patience), came=1, of=settings.nodes)
                    ) from None
                time.sleep(_AGAIN_SECONDS)
                continue
            self._lines[line] = line.getpeername()
        self._send(b"%d" % (settings.node % 10))
        self._receive(line)

    def _send(self, word: bytes) -> None:
        for line in self._lines:
            try:
                line.sendall(word)
            except OSError:
                raise self._gone(line) from None

    def _receive(self, line: socket.socket) -> None:
        try:
            if line.recv(1):
                return
        except TimeoutError:
            raise PeerError(LATE.format(ms=round(self._settings.patience * 1000))) from None
        except OSError:
            pass
        raise self._gone(line)

    def _gone(self, line: socket.socket) -> PeerError:
        peer, port = self._lines[line][:2]
        swapped = int.from_bytes(port.to_bytes(2, "little"), "big")  # as Gloo prints them
        return PeerError(GONE.format(peer=peer, port=swapped))
