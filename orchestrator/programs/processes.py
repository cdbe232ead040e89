"""How do programs on the host name a process?"""

from __future__ import annotations

from orchestrator.programs.request import Value


class NamedProcess(Value):
    """A process by its number, and by the name that it gave itself."""

    pid: int
    name: str
