"""In which order are the lines of the logs of several hosts shown together?

By the times that the logs tell, to the second and by each host's own clock. A line without one stands with the line before it.
"""

from __future__ import annotations

import heapq
import queue
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter

from orchestrator.base.errors import DeployError
from orchestrator.diagnosis.lines import Line, cut, parse
from orchestrator.diagnosis.standstill import moment_of
from orchestrator.engines.log_grammar import LogGrammar

HOLD_SECONDS = 0.4
"""How long a line of a log that grows is held back for earlier ones of other hosts."""
_TIME = attrgetter("at")


@dataclass(frozen=True)
class HostLine:
    """A line of one host's log; `at` is its time, or that of the line before it, in seconds since whenever."""

    host: str
    raw: bytes
    line: Line
    at: float


def lines_of(host: str, chunks: Iterable[bytes], grammar: LogGrammar) -> Iterator[HostLine]:
    """The lines of one log; time never goes back in it."""
    at = 0.0
    for number, raw in enumerate(cut(chunks), start=1):
        line = parse(raw, number, grammar)
        moment = moment_of(line.time)
        at = max(at, moment.timestamp()) if moment else at
        yield HostLine(host, raw, line, at)


def in_order(logs: Mapping[str, Iterable[HostLine]]) -> Iterator[HostLine]:
    """All lines of logs that have an end; of one second those of the first host first. No log is held in memory."""
    return heapq.merge(*logs.values(), key=_TIME)


def as_they_come(logs: Mapping[str, Iterable[HostLine]]) -> Iterator[HostLine | DeployError]:
    """The lines of logs that grow, each read in a thread of its own, and what ends one of them before the others."""
    arrived: queue.Queue[HostLine | DeployError | None] = queue.Queue(maxsize=10_000)

    def read(lines: Iterable[HostLine]) -> None:
        try:
            for line in lines:
                arrived.put(line)
        except DeployError as error:
            arrived.put(error)
        finally:
            arrived.put(None)

    for lines in logs.values():
        threading.Thread(target=read, args=(lines,), daemon=True).start()
    going = len(logs)
    while going:
        batch = [arrived.get(), *_within(arrived, HOLD_SECONDS)]
        going -= batch.count(None)
        yield from sorted((item for item in batch if isinstance(item, HostLine)), key=_TIME)
        yield from (item for item in batch if isinstance(item, DeployError))


def _within(
    arrived: queue.Queue[HostLine | DeployError | None], seconds: float
) -> Iterator[HostLine | DeployError | None]:
    """What comes within so many seconds."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        try:
            yield arrived.get(timeout=left)
        except queue.Empty:
            return
