"""What happens, as one stream of events that any renderer can show."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Kind = Literal["step", "progress", "finding", "note", "warning", "plan", "result", "error"]


@dataclass(frozen=True)
class Event:
    """One thing that happened on a host.

    `step` names the step it belongs to ("download", "launch 2", or ""), `text` is for people (it may have
    several lines), `data` for machines: names to JSON values. A "step" event's data has `state`
    ("started", "ok", "skipped", "failed") and, when it ended, `seconds`.
    """

    kind: Kind
    text: str
    step: str = ""
    host: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


class Renderer(Protocol):
    """Shows events; called by one thread at a time."""

    def show(self, event: Event) -> None: ...


class Step:
    """A step that is under way; `done` is what its closing line will say."""

    def __init__(self, report: Report, name: str) -> None:
        self._report = report
        self.name = name
        self.done = ""
        self.state: Literal["ok", "skipped", "failed"] = "ok"
        self.data: dict[str, Any] = {}

    def progress(self, text: str, **data: Any) -> None:
        self._report.emit("progress", text, step=self.name, **data)


class Report:
    """Where the deployment of one host tells what happens."""

    _lock = threading.Lock()

    def __init__(self, renderer: Renderer, host: str) -> None:
        self._renderer = renderer
        self.host = host

    def emit(self, kind: Kind, text: str, *, step: str = "", **data: Any) -> None:
        with self._lock:
            self._renderer.show(Event(kind, text, step, self.host, data))

    @contextmanager
    def step(self, name: str, text: str = "") -> Iterator[Step]:
        """A step from its start to its end, with its time; an exception marks it failed."""
        started = time.monotonic()
        self.emit("step", text, step=name, state="started")
        step = Step(self, name)
        try:
            yield step
        except BaseException:
            step.state = "failed"
            raise
        finally:
            seconds = round(time.monotonic() - started, 2)
            data = {**step.data, "state": step.state, "seconds": seconds}
            self.emit("step", step.done, step=name, **data)
