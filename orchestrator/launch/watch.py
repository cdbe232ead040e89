"""How does one launch go: its log, its processes and its health, followed together as they happen?"""

from __future__ import annotations

import queue
import tempfile
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from orchestrator.hosts.host import Host
from orchestrator.hosts.pipes import connection_lost
from orchestrator.programs.ask import Answers
from orchestrator.programs.listener import PortOwner
from orchestrator.programs.watch import Answering, Beat, Exited, FollowLaunch, Labour

DRAIN_SECONDS = 10.0
"""How long the line may be silent while the log of an ended process is still arriving."""
LOOK_SECONDS = 0.25
"""How often it is asked whether the launch is given up."""
SILENT_SECONDS = 30.0
"""How long a host may say nothing, which beats every two seconds: a cut network ends no connection for a quarter of an hour, and a
lock that hears nothing frees itself after as long."""

GivenUp = Literal["lingering", "hanging"]


@dataclass(frozen=True)
class Seen:
    """What the watch saw last: `ready` (answers with our model, or asks us for a key), `exited`, `foreign` (somebody else's server
    answers on our port), `lingering` (it failed for good and lives on), `hanging` (it stands still) or `late` (not
    ready in time)."""

    state: Literal["ready", "exited", "foreign", "lingering", "hanging", "late"]
    exit_code: int | None = None
    owner: PortOwner | None = None
    at: float = field(default_factory=time.monotonic, compare=False)
    """When, by this machine's clock (`time.monotonic`): those of several hosts cannot be compared."""


class Watch:
    """Follows a launch from its first log line.

    `on_log` gets the bytes of the log as they arrive, in a thread of its own, so that nothing which is waited for
    holds them up; `on_wait` the seconds waited and what the processes have done so far. `given_up` says why there is nothing left to
    wait for, where there is nothing; `proceed` raises where it is to be followed no longer. Following raises HostError("connection_lost")
    where the host says nothing any more.
    """

    def __init__(
        self,
        host: Host,
        *,
        log: str | None,
        request: FollowLaunch,
        on_log: Callable[[bytes], None],
        on_wait: Callable[[float, Labour], None],
        given_up: Callable[[], GivenUp | None] = lambda: None,
        proceed: Callable[[], None] = lambda: None,
    ) -> None:
        self._host = host.name
        self._on_log = on_log
        self._on_wait = on_wait
        self._given_up = given_up
        self._proceed = proceed
        self._spool = tempfile.NamedTemporaryFile(buffering=0)  # noqa: SIM115 (closed with this context)
        self._read_again = Path(self._spool.name).open("rb")  # noqa: SIM115 (likewise; at a place of its own)
        self._taking = threading.Lock()
        self._received = 0
        self._lines = 0
        self._arrivals: list[tuple[int, float]] = []
        """How many lines of the log were whole, and when."""
        self._last = b""
        self._silent = 0.0
        """Seconds that were waited without a word: by what was waited, not by the clock, since who follows may have been stopped."""
        self._arrived: queue.Queue[tuple[str, Any]] = queue.Queue()
        self._states = Answers(host, request)
        self._tail = host.stream(["tail", "-c", "+1", "-F", "--", log]) if log else None
        sources: list[tuple[str, Iterator[Any]]] = [("state", self._states.values())]
        if self._tail is not None:
            sources.append(("log", self._taken(self._tail.chunks())))
        self._threads = [threading.Thread(target=self._pump, args=source, daemon=True) for source in sources]

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
        self._read_again.close()

    def until_ready(self, seconds: float) -> Seen:
        """Follow until the engine is ready, has ended, or the time is over."""
        return self._follow(seconds, stop_when_ready=True)

    def until_exit(self, seconds: float) -> Seen:
        """Follow until the engine has ended or the time is over, whatever its health says."""
        return self._follow(seconds, stop_when_ready=False)

    def until_quiet(self, seconds: float, quiet: float) -> Seen:
        """Follow until the engine has ended, its log has not grown for `quiet` seconds, or the time is over."""
        started = grown = time.monotonic()
        while time.monotonic() < min(started + seconds, grown + quiet):
            try:
                kind, value = self._arrived.get(timeout=min(quiet, LOOK_SECONDS))
            except queue.Empty:
                continue
            if kind == "lost":
                raise value
            if kind == "log":
                grown = time.monotonic()
            elif isinstance(value, Exited):
                self._drain(value.log_bytes)
                return Seen("exited", exit_code=value.exited)
        return Seen("late")

    def arrived(self, number: int) -> float | None:
        """When the line of that number (1-based) came, by this machine's clock; None where it is not whole yet."""
        with self._taking:
            later = bisect_left(self._arrivals, (number, 0.0))
            return self._arrivals[later][1] if later < len(self._arrivals) else None

    def log_lines(self) -> Iterator[bytes]:
        """Every line of the log so far."""
        self._read_again.seek(0)
        while (
            line := self._read_again.readline()
        ):  # `yield from` would close the file with whoever reads no further
            yield line

    def _follow(self, seconds: float, *, stop_when_ready: bool) -> Seen:
        started = time.monotonic()
        while (left := started + seconds - time.monotonic()) > 0:
            self._proceed()
            if (why := self._given_up()) is not None:
                return Seen(why)
            pause = min(left, LOOK_SECONDS)
            try:
                kind, value = self._arrived.get(timeout=pause)
            except queue.Empty:
                self._bear(pause)
                continue
            self._silent = 0.0
            if kind == "lost":
                raise value
            if kind == "log":
                continue
            if isinstance(value, Exited):
                self._drain(value.log_bytes)
                return Seen("exited", exit_code=value.exited)
            if isinstance(value, Answering):
                if not value.ours and value.owner:
                    return Seen("foreign", owner=value.owner)
                if stop_when_ready and (value.listed or (value.locked and value.ours)):
                    return Seen("ready")
            elif isinstance(value, Beat):
                self._on_wait(time.monotonic() - started, value.work)
        return Seen("late")

    def _bear(self, seconds: float) -> None:
        """Raise HostError("connection_lost") where the host has said nothing for too long."""
        self._silent += seconds
        if self._silent >= SILENT_SECONDS:
            raise connection_lost(self._host, f"it has said nothing for {SILENT_SECONDS:g} s")

    def _drain(self, log_bytes: int) -> None:
        """Take what the process had written before it ended, however long that takes to arrive."""
        while self._tail is not None and self._received < log_bytes:
            try:
                kind, value = self._arrived.get(timeout=DRAIN_SECONDS)
            except queue.Empty:
                break
            if kind == "lost":
                raise value
        with self._taking:  # what outlives the engine may still be writing
            if self._last not in (b"", b"\n"):
                self._on_log(b"\n")
                self._last = b"\n"

    def _taken(self, chunks: Iterator[bytes]) -> Iterator[int]:
        """Takes the log in; gives the bytes that it has so far."""
        for chunk in chunks:
            with self._taking:
                self._spool.write(chunk)
                self._on_log(chunk)
                self._received, self._last = self._received + len(chunk), chunk[-1:]
                if lines := chunk.count(b"\n"):
                    self._lines += lines
                    self._arrivals.append((self._lines, time.monotonic()))
            yield self._received

    def _pump(self, kind: str, source: Iterator[Any]) -> None:
        try:
            for value in source:
                self._arrived.put((kind, value))
        except Exception as error:  # whatever it is, it belongs to whoever follows
            self._arrived.put(("lost", error))
