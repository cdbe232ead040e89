"""How do events look to a program: one JSON object a line."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any, TextIO

from orchestrator.base.events import Event
from orchestrator.on_host.secrets.secrets import redacted


def json_line(value: Any) -> str:
    """The value as JSON on one line: no secret in it, and no character in it that acts on a terminal."""
    # json leaves one control character as it is
    return json.dumps(redacted(json.loads(json.dumps(value, default=str)))).replace("\x7f", "\\u007f")


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
        self._out.write(json_line(value) + "\n")
        self._out.flush()
