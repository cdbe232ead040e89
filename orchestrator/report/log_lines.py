"""How does a launch log look on a terminal: levels in colour, what every rank repeats told once?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from orchestrator.diagnosis import lines
from orchestrator.engines.log_grammar import LogGrammar
from orchestrator.report.layout import Style, StyledLine, visible

HOLD_SECONDS = 0.4
"""How long a line is held back for other ranks to say the same."""
LONGEST_HELD = 2000
ROLES: dict[str, Style] = {
    "DEBUG": "dim",
    "INFO": "dim",
    "WARNING": "warn",
    "ERROR": "bad",
    "CRITICAL": "bad",
}


@dataclass
class _Held:
    line: lines.Line
    since: float
    processes: list[str | None] = field(default_factory=list)


class LogLines:
    """Takes a log in chunks and gives lines to show; `due` gives what was held back long enough.

    A rank that says what another one has just said is counted, not shown: "same in 8". Whatever is not the
    same stays: a rank's own numbers are never folded away.
    """

    def __init__(self, grammar: LogGrammar, clock: Callable[[], float] = time.monotonic) -> None:
        self._grammar = grammar
        self._clock = clock
        self._rest = b""
        self._number = 0
        self._held: list[_Held] = []
        self._known: dict[tuple[str | None, ...], _Held] = {}

    def take(self, chunk: bytes) -> list[StyledLine]:
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        for raw in whole:
            self._number += 1
            for line in lines.parse_all(
                raw[: lines.LONGEST].replace(b"\0", b""), self._number, self._grammar
            ):
                self._hold(line)
        self._rest = self._rest[: lines.LONGEST]
        return self._release(len(self._held) - LONGEST_HELD)

    def due(self) -> list[StyledLine]:
        """What was held for long enough."""
        old = self._clock() - HOLD_SECONDS
        return self._release(sum(1 for held in self._held if held.since <= old))

    def end(self) -> list[StyledLine]:
        """Everything that is left, a last line without an end included."""
        more = self.take(b"\n") if self._rest else []
        return [*more, *self._release(len(self._held))]

    def _hold(self, line: lines.Line) -> None:
        key = _key(line)
        same = self._known.get(key)
        if same is not None and line.process is not None and line.process not in same.processes:
            same.processes.append(line.process)
            return
        held = _Held(line, self._clock(), [line.process])
        self._held.append(held)
        if line.message.strip() and line.process is not None:
            self._known[key] = held

    def _release(self, count: int) -> list[StyledLine]:
        if count <= 0:
            return []
        out, self._held = self._held[:count], self._held[count:]
        for held in out:
            key = _key(held.line)
            if self._known.get(key) is held:
                del self._known[key]
        return [self._shown(held) for held in out]

    def _shown(self, held: _Held) -> StyledLine:
        same: StyledLine = [(f"  same in {len(held.processes)}", "dim")] if len(held.processes) > 1 else []
        return [*shown(held.line), *same]


def shown(line: lines.Line) -> StyledLine:
    """A line with its process, its level in colour, and its message."""
    spans: StyledLine = []
    if line.process is not None:
        spans.append((f"{visible(line.process)} ", "busy"))
    role = ROLES.get(line.level or "", "")
    if line.level is not None:
        spans += [(line.level, role), (f" {line.time} {visible(line.file or '')} ", "dim")]
    return [*spans, (visible(line.message), role if role != "dim" else "")]


def _key(line: lines.Line) -> tuple[str | None, ...]:
    """What two ranks of one kind have in common when they say the same: Worker_TP4 and Worker_TP0."""
    kind = line.process.rstrip("0123456789") if line.process else None
    return (kind, line.level, line.message)


def whole(chunks: Iterable[bytes], grammar: LogGrammar) -> Iterator[StyledLine]:
    """A log that has ended."""
    log = LogLines(grammar)
    for chunk in chunks:
        yield from log.take(chunk)
    yield from log.end()
