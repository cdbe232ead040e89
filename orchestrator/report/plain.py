"""How do events look to a person where nothing can be redrawn: appended lines of at most 80 columns.

A step that ends soon is one line. One that takes longer is announced before the output was silent for two
seconds: what is waited for, how long already, how long it may take, and when the next line comes. Those lines
thin out, so that half an hour of loading does not fill a CI log; a new phase is told at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TextIO

from orchestrator.base.amounts import duration, rounded
from orchestrator.base.events import Event
from orchestrator.report.blocks import finished
from orchestrator.report.crowd import Crowd
from orchestrator.report.layout import WIDTH, StyledLine, plain, prefix_of, step_head, wrapped
from orchestrator.report.same_steps import SameSteps
from orchestrator.report.ticker import Ticker
from orchestrator.report.underway import CurrentSteps, Going

QUIET_SECONDS = 1.2
"""How long the output may be silent before what is under way is named; the promise is two seconds,
of which a slow machine may need half a second to start this program."""
PAUSES = (1.8, 5.0, 10.0, 20.0, 30.0)
"""Seconds between the lines of one wait; the last one repeats."""
PHASE_SECONDS = 1.8
"""A new phase is told no sooner than this after the line before it."""


class PlainLines:
    """Writes what happened, one line a step; several hosts are told apart by a prefix.

    Used as a context it also speaks while nothing happens.
    """

    def __init__(
        self,
        out: TextIO,
        *,
        several_hosts: bool = False,
        crowd: Crowd | None = None,
        same_steps: SameSteps | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._out = out
        self._crowd = crowd
        self._same_steps = same_steps
        self._several_hosts = several_hosts
        self._clock = clock
        self._under_way = CurrentSteps(clock)
        self._lock = threading.RLock()
        self._ticker = Ticker(self.tick, 0.1)
        self._spoke: dict[str, float] = {}
        self._announced: dict[int, _Announced] = {}
        self._due = clock() + QUIET_SECONDS
        self._times = 0

    def __enter__(self) -> PlainLines:
        self._ticker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ticker.stop()
        with self._lock:
            self._finish(self._same_steps.rest() if self._same_steps else ())

    @contextmanager
    def aside(self) -> Iterator[None]:
        with self._lock:
            self._finish(self._same_steps.rest() if self._same_steps else ())
            yield

    def show(self, event: Event) -> None:
        with self._lock:
            self._spoke.setdefault(event.host, self._clock())
            self._under_way.take(event)
            if self._crowd:
                self._write("", self._crowd.take(event, WIDTH))
            else:
                self._finish(self._same_steps.take(event) if self._same_steps else (event,))
            self.tick()

    def tick(self) -> None:
        """Say what is waited for, where that is due."""
        with self._lock:
            now = self._clock()
            if self._crowd:
                self._tick_of_all(self._crowd, now)
                return
            self._finish(self._same_steps.due() if self._same_steps else ())
            for going in self._under_way.all():
                announced = self._announced.setdefault(id(going), _Announced(going))
                if now >= announced.due(self._spoke[going.host]):
                    self._write(going.host, announced.line(now, prefix_of(going.host, self._several_hosts)))
            known = {id(going) for going in self._under_way.all()}
            self._announced = {key: announced for key, announced in self._announced.items() if key in known}

    def _tick_of_all(self, crowd: Crowd, now: float) -> None:
        """Of many hosts it is said how all of them stand, ever less often."""
        if now >= self._due and (going := self._under_way.all()):
            self._write("", crowd.head(going, WIDTH))
            self._due = now + PAUSES[min(self._times, len(PAUSES) - 1)]
            self._times += 1

    def _finish(self, events: Iterable[Event]) -> None:
        for event in events:
            self._write(event.host, finished(event, WIDTH, several_hosts=self._several_hosts))

    def _write(self, host: str, lines: list[StyledLine]) -> None:
        if lines:
            self._out.write("".join(f"{plain(line)}\n" for line in lines))
            self._out.flush()
            self._spoke[host] = self._clock()


class _Announced:
    """What was told of one wait, and when it is due again."""

    def __init__(self, going: Going) -> None:
        self._going = going
        self._times = 0
        self._next = 0.0
        self._phase = ""

    def due(self, spoke: float) -> float:
        """The first line waits until the output was quiet for a while; later ones come when they were announced."""
        if self._times == 0:
            return spoke + QUIET_SECONDS
        if self._going.phase != self._phase:
            return min(self._next, spoke + PHASE_SECONDS)
        return self._next

    def line(self, now: float, prefix: str) -> list[StyledLine]:
        going = self._going
        pause = PAUSES[min(self._times, len(PAUSES) - 1)]
        self._times += 1
        self._next = now + pause
        self._phase = going.phase
        ahead = going.ahead(now)
        times = f"{duration(going.elapsed(now))}{', ' if ahead else ''}{ahead}"
        following = f"; next in {rounded(pause)}" if pause > PHASE_SECONDS else ""
        head: StyledLine = [(prefix, "dim"), *step_head("started", going.step)]
        return wrapped(head, going.text or "under way", WIDTH, tail=[(f"{times}{following}", "")])
