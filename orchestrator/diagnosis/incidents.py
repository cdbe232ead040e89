"""Which things went wrong in a launch log, put together from their lines?

An incident is a traceback (logged or raw, with its chained causes), what a program that is not Python's says instead, a
refusal of the command line, or a crash. Several processes write at once, so each stream is followed by itself.
"""

from __future__ import annotations

import re

from orchestrator.diagnosis import crashes, cut_off, natives
from orchestrator.diagnosis.incident import Incident, Raised, incident_of, role_of
from orchestrator.diagnosis.lines import Line
from orchestrator.diagnosis.natives import Native
from orchestrator.diagnosis.tracebacks import FRAME, MESSAGE_BYTES, Traceback
from orchestrator.engines.log_grammar import Failures, LogGrammar

_TRACEBACK = re.compile(
    r"^(?P<title>(?!\s*File )[^\"]{0,160}[:+ ] ?)?(?:Exception Group )?Traceback \(most recent call last\):$"
)
_REFUSAL = re.compile(r"^(?P<program>[\w./-]+(?: [\w-]+)?): error: (?P<message>\S.*)$")
_STREAMS = 512
CUT_OFF_LINES = 40
"""A frame that stands so far above all else may be of a traceback whose beginning was cut off."""
_OPEN_LINES = 500
"""How many lines of others may come between two of one traceback."""
_FOREIGN_LINES = 40
HEADING_LINES = 16
"""How far above its traceback a heading may stand, with other processes in between."""


def telling(failures: Failures) -> tuple[str, ...]:
    """What a line must fit to begin an incident."""
    opening = (re.escape("Traceback (most recent call last):"), r"\[-h\]", r"\[options\]", ": error: ")
    return (*opening, *natives.telling(), *crashes.telling(failures))


Key = tuple[str | None, int | None, str | None]


class Incidents:
    """Feed it lines in order; it gives back the incidents that became complete, `so_far` those that are still open."""

    def __init__(self, grammar: LogGrammar) -> None:
        self._grammar = grammar
        self._failures = grammar.failures
        self._hints = crashes.hints(grammar.failures)
        self._open: dict[Key, Traceback | Native] = {}
        self._titles: dict[Key, Line] = {}
        self._usage: Line | None = None
        """That the program said how it is called, as long as it has not said why."""
        self._last: Key | None = None

    def feed(self, line: Line) -> list[Incident]:
        """The incidents that `line` completes."""
        key = self._last = self._stream(line)
        done: list[Incident] = []
        if self._grammar.records.goes_on and line.level is not None:
            self._finish(key, done)  # what went on with the record above had no header
        current = self._open.get(key)
        opening = _TRACEBACK.match(line.message) if "Traceback (" in line.message else None
        if opening:
            if current is None or not current.accept_another(line):
                self._finish(key, done)
                self._start(key, line, (opening["title"] or "").strip(" +:|"))
            return done
        if current is None and line.number <= CUT_OFF_LINES and FRAME.match(line.message):
            # the log begins in a traceback
            current = self._open[key] = Traceback(line, "", self._failures, last=line.number - 1)
        if current is not None and (current.accept(line) or not self._interrupted(key, current, done)):
            return done
        self._remember(key, line)
        if crash := self._plain(line, key):
            done.append(crash)
        return done

    def pass_over(self, line: Line) -> list[Incident]:
        """The incidents that end with a line which is no evidence itself."""
        key = self._stream(line)
        done: list[Incident] = []
        if current := self._open.get(key):
            self._interrupted(key, current, done)
        return done

    def _stream(self, line: Line) -> Key:
        """Who goes on with what: a process, and the source file of its record."""
        headless = line.level is None and line.process is None
        if headless and self._grammar.records.goes_on and self._last is not None:
            current = self._open.get(self._last)
            if current is not None and current.last == line.number - 1:
                return self._last
        return line.process, line.pid, line.file if line.level is not None else None

    def _interrupted(self, key: Key, current: Traceback | Native, done: list[Incident]) -> bool:
        """Whether an open traceback ends with a line that does not go on with it."""
        if isinstance(current, Traceback) and current.stage == "frames" and current.foreign <= _FOREIGN_LINES:
            current.foreign += 1
            return False
        self._finish(key, done)
        return True

    def expire(self, number: int) -> list[Incident]:
        """The incidents that the line of that number can no longer go on with."""
        done: list[Incident] = []
        for key in [key for key, current in self._open.items() if number - current.last > _OPEN_LINES]:
            self._finish(key, done)
        return done

    def settled(self, number: int) -> bool:
        """Whether no incident is open that the line of that number could go on with."""
        return all(number - current.last > _OPEN_LINES for current in self._open.values())

    @property
    def reading(self) -> bool:
        """Whether an exception's message was read that may go on."""
        return any(
            current.message and current.line.level in (None, "", "ERROR", "CRITICAL")
            for current in self._open.values()
        )

    @property
    def last_read(self) -> int:
        """The last line of an exception's message that may go on, 0 where there is none."""
        return max((current.last for current in self._open.values() if current.message), default=0)

    def so_far(self, *, over: bool = False) -> list[Incident]:
        """The incidents that would be complete if the log ended here; where it is `over`, a traceback without its exception
        is one too."""
        done: list[Incident] = []
        for current in self._open.values():
            self._complete(current.copy(), done, over=over)
        if over and self._usage is not None:
            done.append(
                incident_of(
                    "cut", self._usage, [cut_off.refusal(self._usage)], self._grammar, cut_off.REFUSED
                )
            )
        return sorted(done, key=lambda incident: incident.first_line)

    def _start(self, key: Key, line: Line, title: str) -> None:
        heading = self._titles.pop(key, None)
        near = heading is not None and line.number - heading.number <= HEADING_LINES
        if not title and heading is not None and near and line.level is not None:
            title = heading.message
        self._open[key] = Traceback(line, title, self._failures, last=line.number, lines=1)
        if len(self._open) > _STREAMS:
            del self._open[next(iter(self._open))]

    def _finish(self, key: Key, done: list[Incident]) -> None:
        current = self._open.pop(key, None)
        if current is not None:
            self._complete(current, done, over=True)

    def _complete(self, current: Traceback | Native, done: list[Incident], *, over: bool) -> None:
        chain, kind = current.complete(), current.kind
        if isinstance(current, Traceback) and current.cut_off and over:
            chain, kind = [cut_off.raised(current)], cut_off.kind(current)
        if chain:
            title, last, lines = current.title, current.last, current.lines
            done.append(incident_of(kind, current.line, chain, self._grammar, title, last=last, lines=lines))

    def _remember(self, key: Key, line: Line) -> None:
        if line.level is not None and line.message:
            self._titles.pop(key, None)
            self._titles[key] = line
            if len(self._titles) > _STREAMS:
                del self._titles[next(iter(self._titles))]

    def _plain(self, line: Line, key: Key) -> Incident | None:
        text = line.message
        if is_usage(line):
            self._usage = line
            return None
        ours = line.level is None and (
            self._usage is not None or any(program in text for program in self._failures.programs)
        )
        if ours and (match := _REFUSAL.match(text)):
            self._usage = None
            self._open[key] = Traceback(
                line, "", self._failures, "message", "refusal",
                message=[match[0][:MESSAGE_BYTES]], message_line=line.number, last=line.number, lines=1,
            )  # fmt: skip
            return None
        if native := natives.begun_by(line, self._failures):
            self._open[key] = native
            return None
        if any(hint in text for hint in self._hints) and crashes.is_crash(line, self._failures):
            raised = Raised(None, text.strip(), line.number, role=role_of(text.strip(), self._failures))
            return incident_of("crash", line, [raised], self._grammar)
        return None


def is_usage(line: Line) -> bool:
    """Whether a program says with this line how it is called, since it was called otherwise."""
    text = line.message
    return line.level is None and text.startswith("usage: ") and ("[-h]" in text or "[options]" in text)
