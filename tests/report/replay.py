"""A recorded run told again to a renderer, by a clock that the test holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from orchestrator.base.events import Event

CASES = Path(__file__).parent / "cases"
TICK = 0.25


class Ticking(Protocol):
    def show(self, event: Event) -> None: ...

    def tick(self) -> None: ...


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def events(case: str) -> Iterator[tuple[float, Event]]:
    """Each event of a recording with the second at which it came."""
    for line in (CASES / f"{case}.jsonl").read_text().splitlines():
        value: dict[str, Any] = json.loads(line)
        at, kind = value.pop("at"), value.pop("event")
        yield at, Event(kind, value.pop("text"), value.pop("step"), value.pop("host"), value)


def replay(
    case: str,
    renderer: Ticking,
    clock: Clock,
    each: Callable[[float], None] | None = None,
    *,
    tick: float = TICK,
) -> None:
    """Show a recording with the ticks between its events; `each` is called after every one of them."""
    began = clock.now
    for at, event in events(case):
        while clock.now + tick < began + at:
            clock.now += tick
            renderer.tick()
            if each is not None:
                each(clock.now - began)
        clock.now = began + at
        renderer.show(event)
        if each is not None:
            each(clock.now - began)
