"""Which things went wrong in a launch log, put together from their lines?

An incident is a traceback (logged or raw, with its chained causes), a refusal of the command line, or a
crash that Python had no say in. Several processes write at once, so each stream is followed by itself.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field, replace
from typing import Literal

from orchestrator.diagnosis.incident import Frame, Incident, Kind, Raised, Role, role_of
from orchestrator.diagnosis.lines import Line

_TITLES = re.compile(
    r"^(?:WorkerProc (?:failed|hit)|EngineCore (?:failed|encountered|hit)|AsyncLLM output_handler|Error executing method"
    r"|Exception in ASGI)"
)
_TRACEBACK = re.compile(
    r"^(?P<title>(?!\s*File )[^\"]{0,160}[:+ ] ?)?(?:Exception Group )?Traceback \(most recent call last\):$"
)
_FRAME = re.compile(
    r'^\s{1,80}(?:\| )?\s{0,80}File "(?P<file>[^"]+)", line (?P<line>\d{1,9})(?:, in (?P<function>.+))?$'
)
_EXCEPTION = re.compile(
    r"^(?P<name>(?:[A-Za-z_]\w{0,80}\.){0,12}(?:[A-Z]\w{0,160}|\w{0,80}(?:error|timeout|exception))(?:\([\w.]{1,80}\))?)(?P<message>: .*|:)?$"
)
_NOT_EXCEPTION = re.compile(
    r"^(?:INFO|DEBUG|WARNING|ERROR|CRITICAL|Loading|Capturing|Process|Warning|Killed|Note)\b"
)
_DIRECT = "The above exception was the direct cause of the following exception:"
_HANDLING = "During handling of the above exception, another exception occurred:"
_OTHER_TALK = re.compile(
    r"^(?:INFO: |WARNING: |Process \S+:$|nanobind: |\[rank\d+\]:\[|\[[WEIF]\d{3,} |=== |\+ |\$ |usage: |Loading safetensors"
    r"|Capturing CUDA|Parent process exited|Killed|\S{1,400}:\d{1,6}: \w{0,80}Warning: |  warnings\.warn\(|\[(?:shutdown|supervisor)\])"
)
_REFUSAL = re.compile(r"^(?P<program>[\w./-]+(?: [\w-]+)?): error: (?P<message>\S.*)$")
_CRASH = re.compile(
    r"^Fatal Python error: |^(?:\S{1,400}: line \d{1,9}: {1,9}\d{1,10} )?(?:Segmentation fault|Bus error|Illegal instruction|Aborted)\b"
    r"|Segfault encountered|^terminate called after throwing|^Failed: Cuda error |: command not found$"
    r"|^(?:ERROR: {1,9})?\[Errno \d{1,6}\] error while attempting to bind on address|^nvidia-container-cli: |No module named '?vllm'?$|Watchdog caught collective operation timeout"
)
_DIED = re.compile(
    r"^(?:Worker proc|RayWorkerProc) .*died unexpectedly|^A worker died or was killed while executing a task"
    r"|^docker: Error response from daemon|^Killed$|^\S{1,400}: line \d{1,9}: {1,9}\d{1,10} Killed\b"
)

_CRASH_HINTS = (
    "Fatal Python", "ault", "Bus error", "Illegal", "Aborted", "terminate called", "Failed: Cuda", "not found", "rror",
    "No module", "Watchdog", "died", "[Errno", "Killed", "nvidia-container",
)  # fmt: skip

TELLING = (
    re.escape("Traceback (most recent call last):"),
    r"\[-h\]",
    r"\[options\]",
    ": error: ",
    _CRASH.pattern,
    _DIED.pattern,
)
"""What a line must fit to begin an incident."""

_HARMLESS = ("DEBUG", "INFO", "WARNING")
_FRAMES_KEPT = 60
_MESSAGE_LINES = 24
_MESSAGE_BYTES = 16 * 1024
_STREAMS = 512
CUT_OFF_LINES = 5
"""A frame that stands so far above all else may be of a traceback whose beginning was cut off."""
_OPEN_LINES = 500
"""How many lines of others may come between two of one traceback."""
_FOREIGN_LINES = 40
HEADING_LINES = 16
"""How far above its traceback a heading may stand, with other processes in between."""


@dataclass
class _Open:
    """A traceback whose end has not been seen."""

    line: Line
    title: str
    stage: Literal["frames", "message", "between"] = "frames"
    kind: Kind = "exception"
    quoting: list[Raised] = field(default_factory=list)
    """The exceptions in whose text this traceback is quoted: it is another program's, and their cause."""
    entry: Frame | None = None
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


Key = tuple[str | None, int | None, str | None]


class Incidents:
    """Feed it lines in order; it gives back the incidents that became complete, `so_far` those that are still open."""

    def __init__(self) -> None:
        self._open: dict[Key, _Open] = {}
        self._titles: dict[Key, Line] = {}
        self._usage = False

    def feed(self, line: Line) -> list[Incident]:
        """The incidents that `line` completes."""
        key = _stream(line)
        done: list[Incident] = []
        current = self._open.get(key)
        opening = _TRACEBACK.match(line.message) if "Traceback (" in line.message else None
        if opening:
            if current and current.stage == "between":
                _link(current)
                current.stage, current.last, current.lines = "frames", line.number, current.lines + 1
                return done
            if current and current.last == line.number - 1 and _quotes(current, line):
                _quote(current)
                current.last, current.lines = line.number, current.lines + 1
                return done
            self._finish(key, done)
            self._start(key, line, (opening["title"] or "").strip(" +:|"))
            return done
        if current is None and line.number <= CUT_OFF_LINES and _FRAME.match(line.message):
            current = self._open[key] = _Open(line, "", last=line.number - 1)  # the log begins in a traceback
        if current is not None:
            if _accept(current, line):
                current.last, current.lines = line.number, current.lines + 1
                return done
            if not self._interrupted(key, current, done):
                return done
        self._remember(key, line)
        if plain := self._plain(line, key):
            done.append(plain)
        return done

    def pass_over(self, line: Line) -> list[Incident]:
        """The incidents that end with a line which is no evidence itself."""
        key = _stream(line)
        done: list[Incident] = []
        if current := self._open.get(key):
            self._interrupted(key, current, done)
        return done

    def _interrupted(self, key: Key, current: _Open, done: list[Incident]) -> bool:
        """Whether an open traceback ends with a line that does not go on with it."""
        if current.stage == "frames" and current.foreign <= _FOREIGN_LINES:
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
            current.message and current.line.level in (None, "ERROR", "CRITICAL")
            for current in self._open.values()
        )

    @property
    def last_read(self) -> int:
        """The last line of an exception's message that may go on, 0 where there is none."""
        return max((current.last for current in self._open.values() if current.message), default=0)

    def so_far(self) -> list[Incident]:
        """The incidents that would be complete if the log ended here."""
        done: list[Incident] = []
        for current in self._open.values():
            _complete(replace(current, chain=[*current.chain], frames=current.frames.copy()), done)
        return sorted(done, key=lambda incident: incident.first_line)

    def _start(self, key: Key, line: Line, title: str) -> None:
        heading = self._titles.pop(key, None)
        if not title and heading is not None and line.level and line.number - heading.number <= HEADING_LINES:
            title = heading.message
        self._open[key] = _Open(line, title, last=line.number, lines=1)
        if len(self._open) > _STREAMS:
            del self._open[next(iter(self._open))]

    def _finish(self, key: Key, done: list[Incident]) -> None:
        current = self._open.pop(key, None)
        if current is not None:
            _complete(current, done)

    def _remember(self, key: Key, line: Line) -> None:
        if line.level and line.message:
            self._titles.pop(key, None)
            self._titles[key] = line
            if len(self._titles) > _STREAMS:
                del self._titles[next(iter(self._titles))]

    def _plain(self, line: Line, key: Key) -> Incident | None:
        if is_usage(line):
            self._usage = True
            return None
        ours = self._usage or "vllm" in line.message or "api_server" in line.message
        if line.level is None and ours and (found := _REFUSAL.match(line.message)):
            self._usage = False
            self._open[key] = _Open(
                line,
                "",
                "message",
                "refusal",
                message=[found[0][:_MESSAGE_BYTES]],
                message_line=line.number,
                last=line.number,
                lines=1,
            )
            return None
        if any(hint in line.message for hint in _CRASH_HINTS) and (
            (line.level not in _HARMLESS and _CRASH.search(line.message)) or _DIED.search(line.message)
        ):
            return _incident("crash", line, [Raised(None, line.message.strip(), line.number)])
        return None


def _stream(line: Line) -> Key:
    return line.process, line.pid, line.file if line.level else None


def is_usage(line: Line) -> bool:
    """Whether a program says with this line how it is called, since it was called otherwise."""
    text = line.message
    return line.level is None and text.startswith("usage: ") and ("[-h]" in text or "[options]" in text)


def died_only(incident: Incident) -> bool:
    """Whether the incident only says that a process is gone, so that anything else explains more."""
    return incident.kind == "crash" and _DIED.search(incident.chain[0].text) is not None


def _incident(
    kind: Kind, line: Line, chain: list[Raised], title: str = "", last: int | None = None, lines: int = 1
) -> Incident:
    roles = {role_of(raised) for raised in chain}
    role: Role = "initiating" if "initiating" in roles else "teardown" if "teardown" in roles else "cascade"
    if line.level in _HARMLESS and kind == "exception":
        role = "benign"
    return Incident(
        kind,
        role,
        line.process,
        line.pid,
        line.level,
        title,
        tuple(chain),
        line.number,
        last or line.number,
        lines,
        line.file,
    )


def _complete(current: _Open, done: list[Incident]) -> None:
    _link(current)
    chain = current.chain
    if chain and current.quoting:
        chain = [*chain[:-1], replace(chain[-1], caused_next=True)]
    if chain := [*chain, *current.quoting]:
        done.append(_incident(current.kind, current.line, chain, current.title, current.last, current.lines))


def _quotes(current: _Open, line: Line) -> bool:
    """Whether an exception's text announces what another program said, which begins with `line`."""
    announced = any(text.rstrip().endswith(":") or "subprocess" in text for text in current.message)
    return current.stage == "message" and line.level is not None and announced


def _quote(current: _Open) -> None:
    """Go on with a traceback that stands in an exception's text."""
    _link(current)
    current.quoting = [*current.chain, *current.quoting]
    current.chain, current.stage = [], "frames"


def _link(current: _Open) -> None:
    """Close the exception that is being read and add it to the chain."""
    if not current.message:
        return
    text = "\n".join(current.message).rstrip()
    frames = tuple(current.frames)
    if current.entry and current.entry not in frames:
        frames = (current.entry, *frames)
    current.chain.append(Raised(current.exception, text, current.message_line, frames, current.caused_next))
    current.frames.clear()
    current.message, current.message_bytes = [], 0
    current.caused_next, current.entry = False, None


def _accept(current: _Open, line: Line) -> bool:
    """Whether `line` goes on with the open traceback; takes it in if so."""
    if current.stage == "frames":
        return _accept_frame(current, line)
    text = line.message
    if text.strip() in (_DIRECT, _HANDLING):
        current.caused_next, current.stage = text.strip() == _DIRECT, "between"
        return True
    if current.stage == "between":
        return not text.strip()
    follows = line.time == current.line.time if line.level else line.number - current.last <= 1
    if not follows or _TITLES.match(text) or (not line.level and _OTHER_TALK.match(text)):
        return False
    if len(current.message) < _MESSAGE_LINES and current.message_bytes < _MESSAGE_BYTES:
        current.message.append(text[: _MESSAGE_BYTES - current.message_bytes])
        current.message_bytes += len(text)
        return True
    return line.level is not None


def _accept_frame(current: _Open, line: Line) -> bool:
    text = line.message
    if found := _FRAME.match(text):
        frame = Frame(found["file"], int(found["line"]), found["function"] or "")
        current.entry = current.entry or frame
        current.frames.append(frame)
        return True
    if not text.strip() or text[0].isspace():
        return True
    found = _EXCEPTION.match(text)
    if not found or _NOT_EXCEPTION.match(text):
        return False
    current.stage, current.exception = "message", found["name"]
    text = text[:_MESSAGE_BYTES]
    current.message, current.message_line, current.message_bytes = [text], line.number, len(text)
    return True
