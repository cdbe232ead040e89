"""Where does each process of a launch stand, by the stacks that somebody dumped of it?

Python's faulthandler, an engine's own watchdog, or py-spy write them, innermost frame first: into the log, or into files
of their own. A stack says what a launch that stands still waits for, where its log says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from orchestrator.diagnosis.incident import Frame
from orchestrator.diagnosis.lines import Line
from orchestrator.engines.log_grammar import Dumps

_FRAMES = 100
"""Frames that are kept of a thread, the innermost; its outermost is remembered besides."""
_PROCESSES = 256
_FOREIGN_LINES = 40
"""How many lines of others may come between two of one dump."""
_FILE = re.compile(r"^==> (?P<path>\S.{0,1000}) <==$")
"""What head and tail put above each of several files."""
_OF_PYTHON = re.compile(
    r"^(?:Current thread|Thread) 0x[0-9a-f]{1,16}(?: \[[^\]]{0,80}\])? \(most recent call first\):$"
)
_OF_PY_SPY = re.compile(
    r'^Thread (?:0x[0-9A-Fa-f]{1,16}|\d{1,12}) \((?:idle|active)[^)]{0,20}\)(?:: ".{0,200}")?$'
)
_PROCESS = re.compile(r"^Process (?P<pid>\d{1,10}): (?P<name>\S.{0,400})$")
_FRAME = re.compile(
    r'^\s{2,8}(?:File "(?P<file>[^"]{1,1000})", line (?P<line>\d{1,9}|\?\?\?) in (?P<function>\S.{0,200})'
    r"|(?P<name>\S.{0,200}?) \((?P<place>[^():]{1,1000})(?::(?P<at>\d{1,9}))?\))$"
)
_BETWEEN = re.compile(
    r"^(?:Python v\d|\s{1,8}(?:Arguments|Locals):|\s{6,40}\S|\s{2,8}(?:\.\.\.|<no Python frame>)$|={20,80}$|$)"
)
_CRASH = re.compile(r"^Fatal Python error: ")
_MAIN = "<module>"


def telling(dumps: Dumps) -> tuple[str, ...]:
    """What a line must fit to begin a dump, or say of whom it is."""
    own = (dumps.begins.pattern,) if dumps.begins else ()
    return (
        r"\(most recent call first\):$",
        r"^Process \d{1,10}: \S",
        r"\((?:idle|active)",
        r"^==> .{1,1000} <==$",
        *own,
    )


@dataclass(frozen=True)
class Stack:
    """Where one process stands: the frames of its main thread, innermost first. `line` is the first of them in the log;
    `why` is why it was dumped, where that is said."""

    process: str | None
    pid: int | None
    frames: tuple[Frame, ...]
    line: int
    last: int
    why: str = ""


@dataclass
class _Thread:
    line: int
    frames: list[Frame] = field(default_factory=list)
    outermost: Frame | None = None


@dataclass
class _Source:
    """What is being read of one process."""

    process: str | None
    pid: int | None
    why: str = ""
    main: _Thread | None = None
    open: _Thread | None = None
    last: int = 0
    foreign: int = 0
    passing: bool = False
    """Whether what follows is a dump that says less than the one before."""


class Stacks:
    """Feed it the lines of a launch; `read` are the stacks so far. Memory is bounded."""

    def __init__(self, dumps: Dumps) -> None:
        self._dumps = dumps
        self._sources: dict[tuple[str | None, int | None], _Source] = {}
        self._named: tuple[str | None, int | None] = (None, None)
        self._crashed = 0

    def feed(self, line: Line) -> bool:
        """Take a line in; whether it is one of a dump."""
        if line.level is not None:
            return self._foreign(line)
        text = line.message
        if _CRASH.match(text):  # what follows is no stand, but where it died
            self._crashed = line.number
            return False
        if whose := self._whose(text):
            self._named = whose
            return True
        source = self._source(line)
        if self._dumps.begins and (begun := self._dumps.begins.match(text)):
            self._anew(source, line, begun["why"])
            return True
        if source.passing and (_starts(text) or _BETWEEN.match(text) or _FRAME.match(text)):
            source.last = line.number
            return True
        if _starts(text):
            if self._crashed and line.number - self._crashed <= _FOREIGN_LINES:
                self._crashed = line.number
                return False
            _close(source)
            source.open, source.last, source.foreign = _Thread(line.number), line.number, 0
            return True
        return source.open is not None and self._goes_on(source, source.open, line)

    def _goes_on(self, source: _Source, thread: _Thread, line: Line) -> bool:
        if frame := _frame(line.message):
            if len(thread.frames) < _FRAMES:
                thread.frames.append(frame)
            thread.outermost = frame
        elif not _BETWEEN.match(line.message):
            return self._foreign(line)
        source.last, source.foreign = line.number, 0
        return True

    def _foreign(self, line: Line) -> bool:
        source = self._sources.get((line.process, line.pid))
        if source is not None and source.open is not None:
            source.foreign += 1
            if source.foreign > _FOREIGN_LINES:
                _close(source)
        return False

    def _whose(self, text: str) -> tuple[str | None, int | None] | None:
        """The process of which a dump follows, where a line says so."""
        if spied := _PROCESS.match(text):
            return spied["name"], int(spied["pid"])
        if not (file := _FILE.match(text)):
            return None
        named = self._dumps.named.search(file["path"]) if self._dumps.named else None
        return (named["name"], int(named["pid"])) if named else (None, None)

    def _source(self, line: Line) -> _Source:
        whose = (line.process, line.pid) if line.process else self._named
        if whose not in self._sources and len(self._sources) >= _PROCESSES:
            return _Source(*whose)
        return self._sources.setdefault(whose, _Source(*whose))

    def _anew(self, source: _Source, line: Line, why: str) -> None:
        """Another dump of the same process: where it stands now counts, unless it was told to stop while it stood still."""
        stood = self._stalled(source.why) and (source.main or source.open) is not None
        source.passing = stood and not self._stalled(why)
        source.last, source.foreign = line.number, 0
        if source.passing:
            _close(source)
        else:
            source.main = source.open = None
            source.why = why

    def _stalled(self, why: str) -> bool:
        return self._dumps.stalled is not None and self._dumps.stalled in why

    def settled(self, number: int) -> bool:
        """Whether no dump is open that the line of that number could go on with."""
        return all(
            source.open is None or number - source.last > _FOREIGN_LINES for source in self._sources.values()
        )

    @property
    def read(self) -> tuple[Stack, ...]:
        """Of each process where its main thread stands, in the order in which they were read."""
        return tuple(self._read())

    def _read(self) -> Iterator[Stack]:
        for source in self._sources.values():
            threads = [thread for thread in (source.open, source.main) if thread and thread.frames]
            if not threads:
                continue
            main = next((thread for thread in threads if _is_main(thread)), threads[0])
            yield Stack(source.process, source.pid, tuple(main.frames), main.line, source.last, source.why)


def _starts(text: str) -> bool:
    """Whether a thread's stack begins with a line."""
    return (_OF_PYTHON.match(text) or _OF_PY_SPY.match(text)) is not None


def _close(source: _Source) -> None:
    if source.open is not None and source.open.frames and not (source.main and _is_main(source.main)):
        source.main = source.open
    source.open = None


def _is_main(thread: _Thread) -> bool:
    return thread.outermost is not None and thread.outermost.function == _MAIN


def _frame(text: str) -> Frame | None:
    match = _FRAME.match(text)
    if match is None:
        return None
    if match["file"]:
        number = match["line"]
        return Frame(match["file"], int(number) if number.isdigit() else 0, match["function"])
    return Frame(match["place"], int(match["at"] or 0), match["name"])


def of_files(contents: Iterable[tuple[str, str]], dumps: Dumps) -> tuple[Stack, ...]:
    """The stacks in files of dumps, given with their names."""
    stacks = Stacks(dumps)
    for name, content in contents:
        texts = [f"==> {name} <==", *content.split("\n")]
        for text in texts:
            stacks.feed(Line(0, None, None, None, None, None, text.rstrip()))
    return tuple(replace(stack, line=0, last=0) for stack in stacks.read)


def stuck(stacks: Sequence[Stack], dumps: Dumps) -> tuple[Stack, ...]:
    """Those that were dumped because they stand still, or nobody says why."""
    return tuple(stack for stack in stacks if not stack.why or (dumps.stalled and dumps.stalled in stack.why))
