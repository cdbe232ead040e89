"""How do events look to a program: one JSON object a line."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import TextIO

from orchestrator.report.events import Event


class JsonLines:
    """Writes {"event", "host", "step", "text", ...data} objects, one a line, flushed at once."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def __enter__(self) -> JsonLines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return

    def aside(self) -> AbstractContextManager[None]:
        return nullcontext()

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
