"""How far has a launch come, and what has its log said about itself?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from types import MappingProxyType

from orchestrator.diagnosis.lines import Line
from orchestrator.engines.log_grammar import LogGrammar, Portrait, Start
from orchestrator.patches.known import Known


@dataclass(frozen=True, slots=True)
class Phase:
    """The phase of a launch: `done` of `total` items where the log counts them, `eta_seconds` where it says
    so, and the number of the line that said it last."""

    name: str
    done: int | None = None
    total: int | None = None
    eta_seconds: int | None = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class Meeting:
    """Where the ranks of a launch meet, and whether all of them have come; until then each waits for the others."""

    place: str
    met: bool = False


_COUNTED = re.compile(
    r"\d{1,3}% Completed \| (?P<done>\d{1,9})/(?P<total>\d{1,9}) \[[^<\]]{1,40}<(?P<eta>[\d:?]{1,20})"
    r"|\|\s{0,8}(?P<done2>\d{1,9})/(?P<total2>\d{1,9}) \[[^<\]]{1,40}<(?P<eta2>[\d:?]{1,20})"
)
_UNSAID = ("auto", "None")
"""Values of a setting that nobody chose."""
_PROMPTS = frozenset("+$#>")


def telling(start: Start, stall: str | None) -> tuple[str, ...]:
    """What a line must fit to change more than `last` and `stalled`."""
    stalls = () if stall is None else (re.escape(stall),)
    described = (*start.details, *start.commands)
    return (start.milestones.pattern, start.begins.pattern, *described, start.stopping.pattern, *stalls)


class StartUp:
    """Feed it the lines of one launch; `phase` is where it is, the other attributes what it said.

    `arguments` are the arguments that were given (names with underscores), None as long as the log has
    not listed them; `engine` the engine configuration as resolved, whose first word is on `engine_line`.
    `reached` is the line on which each phase began; `stopping` the first to say that the server shuts down; `stalled`
    counts notices of a stall since anything else was said.
    """

    def __init__(self, grammar: LogGrammar) -> None:
        self._kind = grammar.kind
        self._start = grammar.start
        self._children = grammar.processes.children
        self._alone = grammar.processes.alone
        self._stall = grammar.pulse.stall
        self.phase = Phase("starting")
        self.meeting: Meeting | None = None
        self.begun = False
        self.version: str | None = None
        self.compute_cap: str | None = None
        self.kv_tokens: int | None = None
        self.context: int | None = None
        self.attention_backend: str | None = None
        self.arguments: Mapping[str, str] | None = None
        self.engine: Mapping[str, str] = MappingProxyType({})
        self.api_pid: int | None = None
        self.up_line: int | None = None
        self.clients = False
        """Whether the log shows clients, though not that the server came up."""
        self.stopping: Line | None = None
        self.last: Line | None = None
        self.stalled = 0
        self.engine_line: int | None = None
        self.reached: dict[str, int] = {}
        self.dresses: set[str | None] = set()
        """What the milestones of this launch came in."""
        self.ranked = False
        """Whether one of its engine processes has a name that tells it from others."""
        self._listed = False
        self._up_named = False

    @property
    def shown(self) -> str | None:
        """The setting that belongs to the evidence of a failure ("kv_cache=fp8"), None if the log does not say."""
        name = self._start.shown
        value = self.engine.get(name) if name else None
        return None if value in (None, "", *_UNSAID) else f"{name}={value}"

    def phase_at(self, number: int) -> str:
        """The phase in which the line of that number was written."""
        passed = [(line, phase) for phase, line in self.reached.items() if line <= number]
        return max(passed, default=(0, self._start.phases[0]))[1]

    @property
    def known(self) -> Known:
        """What the log has said of the launch so far."""
        return Known(
            kind=self._kind,
            version=self.version,
            compute_cap=self.compute_cap,
            gpus=self.gpus,
            arguments=self.arguments,
            engine=self.engine,
        )

    @property
    def gpus(self) -> int | None:
        """GPUs of one replica, as the engine or the command line says."""
        sizes = [self._size(name) for name in self._start.shares]
        return prod(size or 1 for size in sizes) if any(size is not None for size in sizes) else None

    def _size(self, name: str) -> int | None:
        size = self.engine.get(name) or (self.arguments or {}).get(name, "")
        return int(size) if size.isdecimal() and len(size) < 10 else None

    def is_progress(self, message: str) -> bool:
        """Whether a message shows that the start went on."""
        return self._milestone(message) is not None

    def _milestone(self, message: str) -> re.Match[str] | None:
        start = self._start
        return start.milestones.search(message) if any(hint in message for hint in start.hints) else None

    def is_start(self, line: Line) -> bool:
        """Whether `line` is one that an API server says when it starts, or a shell that starts one."""
        text = line.message
        if text[:1] in _PROMPTS and line.level is None and self._start.commanded(text) is not None:
            return True
        if not any(hint in text for hint in self._start.begin_hints):
            return False
        child = (line.process or "").startswith(self._children)
        # what stands further inside is a quotation
        return not child and self._start.begins.match(text) is not None

    def begins(self, line: Line) -> bool:
        """Whether another launch begins with `line`, while this one has begun already."""
        if not (self.begun or self.clients) or not self.is_start(line):
            return False
        if not self.begun:  # the end of an earlier launch was left in the log
            return True
        if line.message[:1] in _PROMPTS:
            return True
        other = line.pid is not None and self.api_pid is not None and line.pid != self.api_pid
        return other or self.phase.name not in ("starting", "configuring")

    @property
    def serves_since(self) -> int | None:
        """The line since which clients may have worded what the log says; None as long as there are none."""
        return 0 if self.up_line is None and self.clients else self.up_line

    def knows(self, raw: str) -> bool:
        """Whether the detail that a raw line tells, wherever its message begins, is the one that is known already."""
        if self.up_line is not None:
            return True
        if any(raw.count(hint) > 1 for hint in self._start.detail_hints):  # two may have written into it
            return False
        detail = self._start.detail(raw)
        return detail != Portrait() and not (
            detail.context not in (None, self.context)
            or detail.attention_backend not in (None, self.attention_backend)
            or (detail.compute_cap and not self.compute_cap)
            or (detail.settings or {}).keys() - self.engine.keys()
        )

    def restarts(self, line: Line) -> bool:
        """Whether another launch begins with `line` while this one serves: the program itself says so in a record."""
        by_server = line.level in ("INFO", "") and self._start.starters.search(line.file or "") is not None
        return by_server and self.begins(line)

    def skip(self, last: Line) -> None:
        """Take note of the last of some lines that change nothing else."""
        if last.message.strip():
            self.last, self.stalled = last, 0

    def feed(self, line: Line) -> Phase:
        """Take a line in and give the phase after it."""
        text = line.message
        if text.strip():
            self.stalled = self.stalled + 1 if self._stall is not None and self._stall in text else 0
            self.last = line
        if self.up_line is not None and self._was_another(line):
            self._take_back()
        if self.up_line is not None:
            # what a launch is was said before anybody could send it a request
            self._notice_stop(line)
            return self.phase
        milestone = self._milestone(text)
        if milestone:
            self.dresses.add(line.dress)
            child = (line.process or "").startswith(self._children)
            self.ranked = self.ranked or (child and line.process != self._alone)
            self._advance(str(milestone.lastgroup).replace("_", " "), line)
            self._meet(text)
            self._read(line)
        elif text[:1] in _PROMPTS and (given := self._start.commanded(text)) is not None:
            self.begun = True
            self.arguments = self.arguments if self._listed else given
        elif any(hint in text for hint in self._start.detail_hints):
            self._read_detail(line)
        else:
            self._notice_stop(line)
        return self.phase

    def _was_another(self, line: Line) -> bool:
        """Whether the server that came up was another program's, in which the engine only begins: nothing of it stood before,
        and one of its own processes now says in a record that it starts."""
        if self.begun or line.level is None or not (line.process or "").startswith(self._children):
            return False
        phases = self._start.phases
        served = phases.index("starting server")
        milestone = self._milestone(line.message)
        name = str(milestone.lastgroup).replace("_", " ") if milestone else phases[-1]
        return phases.index(name) < served and all(phases.index(each) >= served for each in self.reached)

    def _take_back(self) -> None:
        self.phase, self.up_line, self.stopping = Phase("starting"), None, None
        self.begun, self.clients, self._up_named = True, False, False
        self.reached.clear()
        self.dresses.clear()

    def _notice_stop(self, line: Line) -> None:
        if self.stopping is not None or self._start.stop_hint not in line.message:
            return
        nameless = (
            self._up_named and line.process is None
        )  # a server whose lines have its name prints what clients sent
        if not nameless and self._start.stopping.search(line.message):
            self.stopping = line

    def _advance(self, name: str, line: Line) -> None:
        phases = self._start.phases
        if phases.index(name) < phases.index(self.phase.name):
            return
        counted = _COUNTED.search(line.message)
        if counted and name in self._start.counted:
            done, total = counted["done"] or counted["done2"], counted["total"] or counted["total2"]
            eta = _seconds(counted["eta"] or counted["eta2"])
            self.phase = Phase(name, int(done), int(total), eta, line.number)
        else:
            self.phase = Phase(name, line=line.number)
        self.reached.setdefault(name, line.number)
        if name == "up" and self.up_line is None:
            self.up_line, self._up_named = line.number, line.process is not None

    def _meet(self, text: str) -> None:
        at = self._start.meeting.search(text)
        if at is not None and at["met"] is not None:
            self.meeting = self.meeting and replace(self.meeting, met=True)
        elif at is not None and self.meeting is None:
            self.meeting = Meeting(at["place"])

    def _read(self, line: Line) -> None:
        text = line.message
        if self._start.begins.search(text):
            self.begun = True
            self.api_pid = self.api_pid or line.pid
        portrait = self._start.portrait(text)
        self.version = self.version or portrait.version
        if not self._listed and portrait.arguments is not None:
            self.arguments, self._listed = portrait.arguments, True
        if portrait.settings is not None:
            self.engine, self.engine_line = portrait.settings, line.number
        if portrait.kv_tokens is not None:
            self.kv_tokens = portrait.kv_tokens

    def _read_detail(self, line: Line) -> None:
        detail = self._start.detail(line.message)
        if detail.settings is not None:
            self.engine = MappingProxyType({**detail.settings, **self.engine})
            self.engine_line = self.engine_line or line.number
        self.compute_cap = self.compute_cap or detail.compute_cap
        self.attention_backend = detail.attention_backend or self.attention_backend
        self.context = detail.context or self.context


def _seconds(clock: str) -> int | None:
    parts = clock.split(":")
    if not all(part.isdigit() for part in parts):
        return None
    total = 0
    for part in parts:
        total = total * 60 + int(part)
    return total
