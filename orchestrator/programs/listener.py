"""Who answers on a port of the host?"""

from __future__ import annotations

from orchestrator.programs.request import Value


class PortOwner(Value):
    """`ours` where a member of the launch has the port; what cannot be seen of another user's process is None."""

    ours: bool
    pid: int | None
    command: str | None
    user: str | None
    since: str | None
    free_port: int | None = None
    """The next port that is free, where this one is not ours."""
