"""What happens, as one stream of events that any renderer can show."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Protocol

from orchestrator.base.errors import Halted
from orchestrator.on_host.secrets.secrets import redact, redacted

EventKind = Literal[
    "wait", "step", "progress", "finding", "note", "warning", "plan", "result", "end", "summary", "error"
]
State = Literal["ok", "skipped", "failed", "interrupted", "halted"]


@dataclass(frozen=True)
class Event:
    """One thing that happened on a host, or (`host` is "") on all hosts that serve as one.

    `step` names the step it belongs to ("download", "launch 2", or ""), `text` is for people (it may have
    several lines), `data` for machines: names to JSON values. The data of "step" and "wait" has `state`
    ("started", "ok", "skipped", "failed", "interrupted", "halted" where another host of the group did not go on); when it started
    `limit`, the seconds that it may take, or None; when it ended `seconds`. A "wait" is a step that leaves no trace once it is over.
    """

    kind: EventKind
    text: str
    step: str = ""
    host: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


class Renderer(Protocol):
    """Shows events; called by one thread at a time."""

    def show(self, event: Event) -> None: ...


class Display(Renderer, Protocol):
    """A renderer that may have something on the screen while this context is open."""

    def __enter__(self) -> Display: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def aside(self) -> AbstractContextManager[None]:
        """While this is open somebody else may write, or ask a person."""
        ...


class StepReport:
    """A step that is under way; `done` is what its closing line will say."""

    def __init__(self, report: Report, name: str) -> None:
        self._report = report
        self.name = name
        self.done = ""
        self.state: State = "ok"
        self.data: dict[str, Any] = {}

    def progress(self, text: str, **data: Any) -> None:
        """Tell how far it is; `eta` (seconds) and `done` of `total` are shown beside the text."""
        self._report.emit("progress", text, step=self.name, **data)


class Report:
    """Where the deployment of one host tells what happens; the data of each event names the `instance`, where there is one."""

    _lock = threading.Lock()

    def __init__(self, renderer: Renderer, host: str, instance: str = "") -> None:
        self._renderer = renderer
        self._of: Mapping[str, str] = {"instance": instance} if instance else {}
        self._began = time.monotonic()
        self.host = host

    @property
    def of_all(self) -> Report:
        """Where what holds for all hosts of a group is told, once."""
        return Report(self._renderer, "")

    @property
    def seconds(self) -> float:
        """Since this report began."""
        return time.monotonic() - self._began

    def emit(self, kind: EventKind, text: str, *, step: str = "", **data: Any) -> None:
        with self._lock:
            self._renderer.show(Event(kind, redact(text), step, self.host, redacted({**data, **self._of})))

    @contextmanager
    def step(self, name: str, text: str = "", *, limit: float | None = None) -> Iterator[StepReport]:
        """A step from its start to its end, with its time; an exception marks it failed.

        `limit` is how many seconds it may take, where that is known.
        """
        with self._timed("step", name, text, limit) as step:
            yield step

    @contextmanager
    def wait(self, name: str, text: str, *, limit: float | None = None) -> Iterator[None]:
        """Something that takes its time and is not worth a line once it is over."""
        with self._timed("wait", name, text, limit):
            yield

    @contextmanager
    def _timed(
        self, kind: Literal["step", "wait"], name: str, text: str, limit: float | None
    ) -> Iterator[StepReport]:
        started = time.monotonic()
        self.emit(kind, text, step=name, state="started", limit=limit)
        step = StepReport(self, name)
        try:
            yield step
        except KeyboardInterrupt:
            step.state = "interrupted"
            raise
        except Halted:
            step.state = "halted"
            raise
        except BaseException:
            step.state, step.done = "failed", step.done or text
            raise
        finally:
            seconds = round(time.monotonic() - started, 2)
            data = {**step.data, "state": step.state, "seconds": seconds}
            self.emit(kind, step.done, step=name, **data)
