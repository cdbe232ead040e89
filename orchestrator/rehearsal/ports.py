"""How is a port kept for a server that starts later, while everybody else asks the kernel for ports too?"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator


@contextlib.contextmanager
def row(count: int) -> Iterator[int]:
    """Keep so many ports that follow each other; gives the first."""
    while True:
        with contextlib.ExitStack() as kept:
            first: int = kept.enter_context(reserve()).getsockname()[1]
            try:
                for port in range(first + 1, first + count):
                    kept.enter_context(reserve(port))
            except (OSError, OverflowError):  # somebody has it, or there is none
                continue
            yield first
            return


def reserve(port: int = 0) -> socket.socket:
    """A socket that keeps a port of 127.0.0.1, any where none is named, for as long as it is open; `getsockname()[1]` is the port.

    Nobody answers there, and the kernel gives it to nobody else, neither to who asks for any port nor to an outgoing
    connection. A server may take it that sets SO_REUSEADDR, as servers do (vLLM, http.server, sshd).
    """
    kept = socket.socket()
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        kept.bind(("127.0.0.1", port))
    except (OSError, OverflowError):
        kept.close()
        raise
    return kept
