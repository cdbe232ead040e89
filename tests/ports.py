"""Which port may a test's server take later, or is nobody's, whatever tests run beside this one?"""

from __future__ import annotations

from contextlib import ExitStack

from orchestrator.rehearsal.ports import row

_KEPT = ExitStack()
"""Until this process ends: a port that was let go may be anybody's before the test's own server is there."""


def free_port(*, following: int = 0) -> int:
    """A port of 127.0.0.1 where nobody answers before the caller's server does; it has to set SO_REUSEADDR. So many `following` it are
    the caller's too."""
    return _KEPT.enter_context(row(1 + following))
