"""Which port may a test's server take later, or is nobody's, whatever tests run beside this one?"""

from __future__ import annotations

import socket

from orchestrator.rehearsal.ports import reserve

_KEPT: list[socket.socket] = []
"""Until this process ends: a port that was let go may be anybody's before the test's own server is there."""


def free_port() -> int:
    """A port of 127.0.0.1 where nobody answers before the caller's server does; it has to set SO_REUSEADDR."""
    kept = reserve()
    _KEPT.append(kept)
    return int(kept.getsockname()[1])
