"""How do events look to a program: one JSON object a line."""

from __future__ import annotations

import json
from typing import TextIO

from orchestrator.report.events import Event


class JsonLines:
    """Writes {"event", "host", "step", "text", ...data} objects, one a line, flushed at once."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def show(self, event: Event) -> None:
        value = {
            "event": event.kind,
            "host": event.host,
            "step": event.step,
            "text": event.text,
            **event.data,
        }
        self._out.write(json.dumps(value, default=str) + "\n")
        self._out.flush()
