"""What does a traceback say, line by line as it is written?"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field, replace
from typing import Literal

from orchestrator.diagnosis import notices
from orchestrator.diagnosis.incident import Frame, IncidentKind, Raised, role_of
from orchestrator.diagnosis.lines import Line
from orchestrator.engines.log_grammar import Failures

FRAME = re.compile(
    r'^\s{1,80}(?:\| )?\s{0,80}File "(?P<file>[^"]+)", line (?P<line>\d{1,9})(?:, in (?P<function>.+))?$'
)
_EXCEPTION = re.compile(
    r"^(?P<name>(?:(?:[A-Za-z_]\w{0,80}\.){0,12}(?:[A-Z]\w{0,160}|[a-z_]\w{0,40}[A-Z]\w{0,80}|\w{0,80}(?:error|timeout|exception))(?:\([\w.]{1,80}\))?"
    r"|(?:[A-Za-z_]\w{0,80}::){1,6}\w{1,80}))(?P<message>: .*|:)?$"
)
_NOT_EXCEPTION = re.compile(
    r"^(?:INFO|DEBUG|WARNING|ERROR|CRITICAL|Loading|Capturing|Process|Warning|Killed|Note)\b"
)
_ATTEMPT = re.compile(
    r"\n[^\n]{0,80}\b(?:attempts?|tried)\b[^\n]{0,80}:\n {0,8}- (?P<text>(?P<name>[A-Z]\w{0,80}Error): [^\n]{1,2000})"
)
"""The first of a list of attempts, each with the exception that ended it, in another exception's message."""
DIRECT = "The above exception was the direct cause of the following exception:"
HANDLING = "During handling of the above exception, another exception occurred:"
_OTHER_TALK = re.compile(
    r"^(?:\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?!\d)|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d |\[(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL) {0,3}\] |INFO: |WARNING: |Process \S+:$|nanobind: |\[rank\d+\]:\[|\[[WEIF]\d{3,} |=== |\+ |\$ |usage: "
    r"|PS [A-Z]:\\|- [\w.]{1,120} - (?:DEBUG|INFO|WARNING|ERROR|CRITICAL) - "
    r"|curl: \(|rpc error: |Connection to \S{1,200} closed|client_loop: |npm ERR! |real\s{1,8}\d{1,6}m|section_(?:start|end):|##\[|::(?:error|warning|group|endgroup)|time=\"|Stream closed EOF for |Error response from daemon: "
    r"|Gracefully stopping\.\.\.|```|-{60}|(?:\([\w.-]{1,60}\) ?)?[\w.-]{1,60}@[\w.-]{1,80}:\S{0,200}[#$](?: |$)|(?:ba|z)?sh-\d[\d.]{0,8}[#$](?: |$)|[A-Z]:\\\S{0,200}>|>>> ?$"
    r"|Parent process exited|Killed|\S{1,400}:\d{1,6}: \w{0,80}Warning: |  warnings\.warn\()"
)
_FRAMES_KEPT = 60
_MESSAGE_LINES = 24
_LONGEST_STATEMENT = 160
MESSAGE_BYTES = 16 * 1024


def _with_source(statement: str, text: str) -> str:
    """The source under a frame with one more line of it; what only points into it is none, nor what follows a whole statement."""
    open_ = sum(map(statement.count, "([{")) > sum(map(statement.count, ")]}"))
    if not text.strip("~^ |") or (statement and not open_):
        return statement
    joint = " " if statement and statement[-1] not in "([{" and text[0] not in ")]}" else ""
    return f"{statement}{joint}{text}"[:_LONGEST_STATEMENT]


@dataclass
class Traceback:
    """A traceback, or a message of several lines, whose end has not been seen. It began with `line`."""

    line: Line
    title: str
    failures: Failures
    stage: Literal["frames", "message", "between"] = "frames"
    kind: IncidentKind = "exception"
    quoting: list[Raised] = field(default_factory=list)
    """The exceptions in whose text this traceback is quoted: it is another program's, and their cause."""
    entry: Frame | None = None
    statement: str = ""
    """The source under the innermost frame so far."""
    frames: deque[Frame] = field(default_factory=lambda: deque(maxlen=_FRAMES_KEPT))
    chain: list[Raised] = field(default_factory=list)
    exception: str | None = None
    message: list[str] = field(default_factory=list)
    message_line: int = 0
    message_bytes: int = 0
    caused_next: bool = False
    last: int = 0
    lines: int = 0
    foreign: int = 0

    def accept(self, line: Line) -> bool:
        """Whether `line` goes on with it; takes it in if so."""
        accepted = self._accept_frame(line) if self.stage == "frames" else self._accept_text(line)
        if accepted:
            self.last, self.lines = line.number, self.lines + 1
        return accepted

    def accept_another(self, line: Line) -> bool:
        """Whether `line`, with which a traceback begins, goes on with it: by the next one of the chain, or by one that
        another program wrote and the exception quotes."""
        again = self.stage == "frames" and self.entry is None and line.number - self.last <= 1
        announced = any(text.rstrip().endswith(":") or "subprocess" in text for text in self.message)
        if self.stage == "between":
            self._link()
        elif (
            self.stage == "message" and self.last == line.number - 1 and line.level is not None and announced
        ):
            self._link()
            self.quoting = [*self.chain, *self.quoting]
            self.chain = []
        elif not again:  # else it was written twice
            return False
        self.stage, self.last, self.lines = "frames", line.number, self.lines + 1
        return True

    def complete(self) -> list[Raised]:
        """The chain of exceptions, empty where none was read; nothing goes on with it any more."""
        self._link()
        chain = self.chain
        if chain and self.quoting:
            chain = [*chain[:-1], replace(chain[-1], caused_next=True)]
        return [*chain, *self.quoting]

    @property
    def cut_off(self) -> bool:
        """Whether its exception was not read, nor any other one of its chain."""
        return self.stage == "frames" and not (self.chain or self.quoting)

    @property
    def passed(self) -> tuple[Frame, ...]:
        """The frames of the exception that is read now or awaited, the outermost one first."""
        frames = tuple(self.frames)
        return (self.entry, *frames) if self.entry and self.entry not in frames else frames

    def copy(self) -> Traceback:
        """The same, to be completed while this one goes on."""
        return replace(self, chain=[*self.chain], frames=self.frames.copy())

    def _link(self) -> None:
        """Close the exception that is being read and add it to the chain."""
        if not self.message:
            return
        text = "\n".join(self.message).rstrip()
        frames = self.passed
        role = role_of(text, self.failures)
        if attempt := _ATTEMPT.search(text):
            # of several that failed the first is the one that was meant to do
            outcome = text.partition(":")[2].split("\n\n", 1)[0].strip()
            words = f"{attempt['text']}\n{outcome}"
            line = self.message_line + text.count("\n", 0, attempt.start("text"))
            self.chain.append(Raised(attempt["name"], words, line, (), True, role_of(words, self.failures)))
        self.chain.append(
            Raised(self.exception, text, self.message_line, frames, self.caused_next, role, self.statement)
        )
        self.frames.clear()
        self.statement = ""
        self.message, self.message_bytes = [], 0
        self.caused_next, self.entry = False, None

    def _accept_text(self, line: Line) -> bool:
        text = line.message
        if text.strip() in (DIRECT, HANDLING):
            self.caused_next, self.stage = text.strip() == DIRECT, "between"
            return True
        if self.stage == "between":
            return not text.strip()
        headed = line.level is not None
        follows = line.time == self.line.time if headed else line.number - self.last <= 1
        if not follows or self.failures.titles.match(text) or (not headed and self._is_aside(text)):
            return False
        if text == self.message[-1]:  # some logs have every line twice
            return True
        if len(self.message) < _MESSAGE_LINES and self.message_bytes < MESSAGE_BYTES:
            self.message.append(text[: MESSAGE_BYTES - self.message_bytes])
            self.message_bytes += len(text)
            return True
        return headed

    def _is_aside(self, text: str) -> bool:
        """Whether raw output is no part of an exception's message."""
        ours = _OTHER_TALK.match(text) or self.failures.asides.match(text)
        return ours is not None or notices.is_notice(text)

    def _accept_frame(self, line: Line) -> bool:
        text = line.message
        if match := FRAME.match(text):
            frame = Frame(match["file"], int(match["line"]), match["function"] or "")
            self.entry = self.entry or frame
            self.frames.append(frame)
            self.message_line, self.statement = line.number, ""
            return True
        if not text.strip() or text[0].isspace():
            self.statement = _with_source(self.statement, text.strip())
            return True
        match = _EXCEPTION.match(text)
        if not match or _NOT_EXCEPTION.match(text):
            return False
        self.stage, self.exception = "message", match["name"]
        text = text[:MESSAGE_BYTES]
        self.message, self.message_line, self.message_bytes = [text], line.number, len(text)
        return True
