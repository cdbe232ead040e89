"""How does one launch go: its log, its processes and its health, followed together as they happen?"""

from __future__ import annotations

import queue
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Any, Literal

from orchestrator.errors import DeployError
from orchestrator.ssh.host import Host

LONGEST_LINE = 1 << 20
"""Bytes of a line that are handed on; a progress bar without line ends must not fill the memory."""
DRAIN_SECONDS = 10.0
"""How long the line may be silent while the log of an ended process is still arriving."""


@dataclass(frozen=True)
class Seen:
    """What the watch saw last: `ready` (answers with our model), `exited`, `foreign` (somebody else's server
    answers on our port) or `late` (not ready in time)."""

    state: Literal["ready", "exited", "foreign", "late"]
    exit_code: int | None = None
    owner: Mapping[str, Any] | None = None


class Watch:
    """Follows a launch from its first log line; `on_line` gets every line of the log, `on_wait` the seconds waited."""

    def __init__(
        self,
        host: Host,
        *,
        log: str | None,
        request: Mapping[str, Any],
        on_line: Callable[[bytes], None],
        on_wait: Callable[[float], None],
    ) -> None:
        self._on_line = on_line
        self._on_wait = on_wait
        self._spool: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed with this context)
        self._received = 0
        self._rest = b""
        self._arrived: queue.Queue[tuple[str, Any]] = queue.Queue()
        self._states = host.stream_script("watch", request)
        self._tail = host.stream(["tail", "-c", "+1", "-F", "--", log]) if log else None
        sources: list[tuple[str, Iterator[Any]]] = [("state", self._states.values())]
        if self._tail is not None:
            sources.append(("log", self._tail.chunks()))
        self._threads = [threading.Thread(target=self._pump, args=one, daemon=True) for one in sources]

    def __enter__(self) -> Watch:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._tail is not None:
            self._tail.close()
        self._states.close()
        for thread in self._threads:
            thread.join()
        self._spool.close()

    def until_ready(self, seconds: float) -> Seen:
        """Follow until the engine is ready, has ended, or the time is over."""
        return self._follow(seconds, stop_when_ready=True)

    def until_exit(self, seconds: float) -> Seen:
        """Follow until the engine has ended or the time is over, whatever its health says."""
        return self._follow(seconds, stop_when_ready=False)

    def log_lines(self) -> Iterator[bytes]:
        """Every line of the log so far."""
        self._spool.seek(0)
        yield from self._spool
        self._spool.seek(0, 2)

    def _follow(self, seconds: float, *, stop_when_ready: bool) -> Seen:
        started = time.monotonic()
        while (left := started + seconds - time.monotonic()) > 0:
            try:
                kind, value = self._arrived.get(timeout=min(left, 1.0))
            except queue.Empty:
                continue
            if kind == "log":
                self._take(value)
            elif kind == "lost":
                raise value
            elif "exited" in value:
                self._drain(value.get("log_bytes") or 0)
                return Seen("exited", exit_code=value["exited"])
            elif "healthy" in value and not value["ours"] and value["owner"]:
                return Seen("foreign", owner=value["owner"])
            elif value.get("healthy") and value["listed"] and stop_when_ready:
                return Seen("ready")
            elif "waited" in value:
                self._on_wait(time.monotonic() - started)
        return Seen("late")

    def _drain(self, log_bytes: int) -> None:
        """Take what the process had written before it ended, however long that takes to arrive."""
        while self._tail is not None and self._received < log_bytes:
            try:
                kind, value = self._arrived.get(timeout=DRAIN_SECONDS)
            except queue.Empty:
                break
            if kind == "log":
                self._take(value)
            elif kind == "lost":
                raise value
        if self._rest:
            self._on_line(self._rest)
            self._rest = b""

    def _take(self, chunk: bytes) -> None:
        self._received += len(chunk)
        self._spool.write(chunk)
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._on_line(line[:LONGEST_LINE])
        if len(self._rest) > LONGEST_LINE:
            self._on_line(self._rest[:LONGEST_LINE])
            self._rest = b""

    def _pump(self, kind: str, source: Iterator[Any]) -> None:
        try:
            for value in source:
                self._arrived.put((kind, value))
        except (DeployError, OSError) as error:
            self._arrived.put(("lost", error))
