"""How is a port kept for a server that starts later, while everybody else asks the kernel for ports too?"""

from __future__ import annotations

import socket


def reserve() -> socket.socket:
    """A socket that keeps a port of 127.0.0.1 for as long as it is open; `getsockname()[1]` is the port.

    Nobody answers there, and the kernel gives it to nobody else, neither to who asks for any port nor to an outgoing
    connection. A server may take it that sets SO_REUSEADDR, as servers do (vLLM, http.server, sshd).
    """
    kept = socket.socket()
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    kept.bind(("127.0.0.1", 0))
    return kept
