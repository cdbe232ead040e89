"""Where is a server asked on its host?"""

from __future__ import annotations

from orchestrator.programs.request import Value


class Endpoint(Value):
    """Host and port as the engine was told to listen, and the id of the model that it serves."""

    host: str
    port: int
    model: str | None
