"""How do events look on a terminal: finished lines stay, what is under way is rewritten in place below them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TextIO

from rich.console import Console
from rich.text import Text

from orchestrator.base.amounts import duration
from orchestrator.base.events import Event
from orchestrator.report.blocks import finished
from orchestrator.report.crowd import Crowd
from orchestrator.report.layout import WIDEST, Style, StyledLine, prefix_of, step_head, visible
from orchestrator.report.same_steps import SameSteps
from orchestrator.report.ticker import Ticker
from orchestrator.report.underway import CurrentSteps, Going

TICK_SECONDS = 0.25
STYLES: dict[Style, str] = {  # the terminal's own palette: whoever chose it can read it, dark or light
    "": "",
    "strong": "bold",
    "dim": "dim",
    "good": "bold green",
    "bad": "red",
    "warn": "yellow",
    "busy": "cyan",
    "link": "cyan",
    "added": "green",
    "removed": "red",
}
BAR = 24
_ERASE_BELOW = "\r\x1b[J"


def console_for(out: TextIO) -> Console:
    return Console(file=out, highlight=False)


def ansi(console: Console, line: StyledLine, *, crop: int | None = None) -> str:
    """A line as the console's terminal shows it, cut to `crop` columns if told."""
    text = Text.assemble(*((visible(part), STYLES[role]) for part, role in line), end="")
    text.rstrip()
    if crop is not None:
        text.truncate(crop)
    with console.capture() as captured:
        console.print(text, soft_wrap=True, end="")
    return captured.get()


class Terminal:
    """Writes finished lines once and the live lines again and again, one for each host that is at work.

    The cursor rests on the first live line, not behind the last: a terminal that is resized wraps lines
    anew and moves the cursor with its line, so that erasing from there on never leaves a copy behind.
    """

    def __init__(
        self,
        out: TextIO,
        *,
        several_hosts: bool = False,
        crowd: Crowd | None = None,
        same_steps: SameSteps | None = None,
        clock: Callable[[], float] = time.monotonic,
        console: Console | None = None,
    ) -> None:
        self._out = out
        self._crowd = crowd
        self._same_steps = same_steps
        self._several_hosts = several_hosts
        self._clock = clock
        self._console = console or console_for(out)
        self._under_way = CurrentSteps(clock)
        self._lock = threading.RLock()
        self._ticker = Ticker(self.tick, TICK_SECONDS)
        self._live = ""
        self._closed = False

    def __enter__(self) -> Terminal:
        self._ticker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ticker.stop()
        with self._lock:
            self._let_go()
            self._erase()
            self._closed = True

    @contextmanager
    def aside(self) -> Iterator[None]:
        with self._lock:
            self._let_go()
            self._erase()
            yield

    def show(self, event: Event) -> None:
        with self._lock:
            if self._closed:
                return
            self._under_way.take(event)
            width = min(self._console.width, WIDEST)
            if self._crowd:
                if stays := self._crowd.take(event, width):  # the rest can wait for the clock
                    self._redraw(stays)
            else:
                self._redraw(self._finished(self._same_steps.take(event) if self._same_steps else (event,)))

    def tick(self) -> None:
        """Let the clocks of what is under way go on."""
        with self._lock:
            if not self._closed:
                self._redraw(self._finished(self._same_steps.due() if self._same_steps else ()))

    def _finished(self, events: Iterable[Event]) -> list[StyledLine]:
        width = min(self._console.width, WIDEST)
        return [
            line for event in events for line in finished(event, width, several_hosts=self._several_hosts)
        ]

    def _let_go(self) -> None:
        """Show what is held back for other hosts."""
        if self._same_steps and (held := self._same_steps.rest()):
            self._redraw(self._finished(held))

    def _redraw(self, above: list[StyledLine]) -> None:
        live = self._lines_under_way()
        room = max(10, self._console.width - 1)
        lines = [ansi(self._console, line, crop=room) for line in live[: max(1, self._console.height - 1)]]
        back = f"\x1b[{len(lines) - 1}A" if len(lines) > 1 else ""
        drawn = "\n".join(lines) + back + "\r" if lines else ""
        if not above and drawn == self._live:
            return
        stays = "".join(ansi(self._console, line) + "\n" for line in above)
        self._out.write((_ERASE_BELOW if self._live else "") + stays + drawn)
        self._out.flush()
        self._live = drawn

    def _lines_under_way(self) -> list[StyledLine]:
        going = self._under_way.all()
        if self._crowd is None:
            return [self._going(step) for step in going]
        shown, more = self._crowd.worst(going)
        lines = self._crowd.head(going, min(self._console.width - 1, WIDEST - 1)) + list(
            map(self._going, shown)
        )
        return [*lines, [(f"  and {more} more", "dim")]] if more else lines

    def _erase(self) -> None:
        if self._live:
            self._out.write(_ERASE_BELOW)
            self._out.flush()
            self._live = ""

    def _going(self, going: Going) -> StyledLine:
        """Name, what is waited for, a bar where the share is known, what is ahead, and the clock at the right edge."""
        now = self._clock()
        width = min(self._console.width - 1, WIDEST - 1)
        prefix = prefix_of(going.host, self._several_hosts)
        head: StyledLine = [(prefix, "dim"), *step_head("started", going.step)]
        ahead = going.ahead(now)
        clock = _clock(going.elapsed(now))
        tail = f"{ahead}{'  ' if ahead else ''}{clock:>6}"
        room = width - sum(len(part) for part, _ in head) - len(tail) - 2
        text = visible(going.text.replace("\n", " ") or "under way")
        text = text if len(text) <= room else text[: max(0, room - 3)].rstrip() + "..."
        line: StyledLine = [*head, (text, "")]
        room -= len(text)
        if going.part is not None and room >= 10:
            size = min(BAR, room - 2)
            full = round(going.part * size)
            done, left = self._bar
            line += [("  ", ""), (done * full, "busy"), (left * (size - full), "dim")]
            room -= size + 2
        return [*line, (" " * (room + 2), ""), (ahead, "dim"), (tail[len(ahead) :], "")]

    @property
    def _bar(self) -> tuple[str, str]:
        return ("━", "─") if self._console.encoding.startswith("utf") else ("#", "-")


def _clock(seconds: float) -> str:
    """Whole seconds while it runs: tenths would only flicker."""
    return f"{int(seconds)}s" if seconds < 60 else duration(seconds)
