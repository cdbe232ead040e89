"""What happened in the last launch of a log?"""

from __future__ import annotations

import copy
import re
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from orchestrator.diagnosis import alone, hearsay
from orchestrator.diagnosis.incident import Incident
from orchestrator.diagnosis.incidents import Incidents, is_usage
from orchestrator.diagnosis.lines import Line
from orchestrator.diagnosis.remarks import Remarks, Watched
from orchestrator.diagnosis.stacks import Stacks
from orchestrator.diagnosis.standstill import TAIL_LINES
from orchestrator.diagnosis.startup import StartUp
from orchestrator.engines.log_grammar import LogGrammar

_KEPT = 200
_VARYING = re.compile(r"0x[0-9a-f]+|\d+")


@dataclass
class FoldedIncident:
    """An incident, the processes that told the same, and how many lines all of it took."""

    incident: Incident
    processes: list[str]
    lines: int


class LaunchLog:
    """Feed it the lines of one launch. Memory is bounded whatever the log's size."""

    def __init__(self, grammar: LogGrammar, watched: Watched) -> None:
        self.grammar = grammar
        self.startup = StartUp(grammar)
        self.remarks = Remarks(watched)
        self.tail: Sequence[Line] = ()
        """The last lines of the log, where somebody asked for the launch as it stands."""
        self.since = 0
        """The line with which it began, 0 for the beginning of the log."""
        self.head: Sequence[Line] = ()
        """The first lines of the log, likewise."""
        self.remarked = False
        """Whether the last line was one that a patch looks for, or that may be what an earlier one came of."""
        self.incidents: list[FoldedIncident] = []
        self._broken_at = 0
        self._died_at: int | None = None
        self._answering: tuple[object, ...] | None = None
        self.stacks = Stacks(grammar.dumps)
        self._reader = Incidents(grammar)
        self._unranked = {grammar.processes.alone} - {None}
        self._known: dict[tuple[object, ...], FoldedIncident] = {}

    def feed(self, line: Line, among: Collection[str] | None = None) -> list[Incident]:
        """Take a line in; gives the incidents that it completed. `among`: what it may fit of what patches look for,
        where that is known."""
        evident = self._is_evidence(line)
        self.take_note(line)
        if not evident:
            self.startup.skip(line)
            self.remarked = False
            return self._reader.pass_over(line)
        serving, phase = self.serving, self.startup.phase.name
        if not (serving and not self._of_engine(line)) and self.stacks.feed(line):
            self.remarked = False
            return self._reader.pass_over(line)
        if self.startup.feed(line).name != phase:
            self.remarks.turn()
        fitting = [] if serving and self._of_front(line) else self.remarks.feed(line, among)
        self.remarked = bool(fitting) and (
            self.failed_once or not self.remarks.watched.quiet.issuperset(fitting)
        )
        return self._reader.feed(line)

    @property
    def serving(self) -> bool:
        """Whether clients may be writing into the log: the server was up, and has not said since that it ended."""
        return self.served_at(None)

    def served_at(self, number: int | None) -> bool:
        """The same on the line of that number: what is complete only at the end may have been printed long before."""
        since, stopping = self.startup.serves_since, self.startup.stopping
        ends = (stopping.number if stopping else None, self._died_at)
        return (
            since is not None
            and (number is None or number > since)
            and all(end is None or (number is not None and number < end) for end in ends)
        )

    def begins(self, line: Line) -> bool:
        """Whether another launch begins with `line`."""
        if not self._is_evidence(line):
            return False
        if self.serving:
            return self.startup.restarts(line)
        return self.startup.begins(line) or (self._begins_again(line) and self.failed_once)

    def _begins_again(self, line: Line) -> bool:
        """Whether a line after a failure shows that the program was started once more."""
        return self.startup.is_start(line) or is_usage(line)

    def _of_engine(self, line: Line) -> bool:
        """Whether output has the name of one of the engine's own processes: what has none may be what a client sent."""
        return (line.process or "").startswith(self.grammar.processes.speaking)

    def _of_front(self, line: Line) -> bool:
        """Whether a process says it that repeats what clients send; of what has no header nobody knows who says it."""
        if line.process is None:
            return line.level is not None
        return line.process.lower().startswith(self.grammar.processes.front)

    def _is_evidence(self, line: Line) -> bool:
        """Whether no client can have worded a line.

        While there are clients, no record counts that stands inside another one's raw line, or that comes in another
        dress than the milestones of the launch; a kernel's word among them is one about the machine.
        """
        if line.hearsay or (line.level is not None and _header(line) == self._answering):
            return False
        if self._broken_at and line.number == self._broken_at + 1:
            return False
        if self.serving and self.startup.ranked and line.process in self._unranked:
            return False  # where the engine's processes have ranks, one without is none of them
        worn = self.startup.dresses or {line.dress} - {None}
        return not self.serving or line.dress in worn or _of_kernel(line)

    def take_note(self, line: Line) -> None:
        """What a line says about the lines that follow it, whether or not it is evidence."""
        if line.broken:
            self._broken_at = line.number
        if not line.hearsay:
            return
        clients = self.grammar.clients
        if clients.goes_on is not None and clients.goes_on.match(line.message):
            self._answering = _header(line)
        if hearsay.shows_clients(line.message, clients, begun=self.startup.begun):
            self.startup.clients = True

    def expire(self, number: int) -> list[Incident]:
        """The incidents that the line of that number can no longer go on with."""
        return self._reader.expire(number)

    def settled(self, number: int) -> bool:
        """Whether no incident or dump is open that the line of that number could go on with."""
        return self._reader.settled(number) and self.stacks.settled(number)

    @property
    def last_read(self) -> int:
        """The last line of an exception's message that may go on, 0 where there is none."""
        return self._reader.last_read

    def copy(self, *, over: bool) -> tuple[LaunchLog, list[Incident]]:
        """What is known now, for `keep` alone, and the incidents that are still open (`over`: nothing goes on with them)."""
        copied = self.next()
        copied.startup, copied.remarks, copied.since = self.startup, self.remarks, self.since
        copied.stacks = self.stacks
        copied._died_at = self._died_at
        copied._known = {
            key: FoldedIncident(folded.incident, [*folded.processes], folded.lines)
            for key, folded in self._known.items()
        }
        copied.incidents = list(copied._known.values())
        return copied, self._reader.so_far(over=over)

    def next(self, number: int = 0) -> LaunchLog:
        """A launch that begins on the line of that number, in which the same is looked for."""
        launch = LaunchLog(self.grammar, self.remarks.watched)
        launch.since = number
        return launch

    def as_served(self) -> LaunchLog | None:
        """The same, where the server is known to have come up though the log does not say so: it says little, or its
        beginning is gone. None where it tells of a start that failed before: a client wrote that."""
        since = self.startup.reached.get("starting server")
        if since is None and self.startup.begun:
            return None
        launch = copy.copy(self)
        launch.startup = copy.copy(self.startup)
        launch.startup.up_line, launch.startup.clients = since, True
        launch.startup.reached = {**self.startup.reached, "up": since or 0}
        return launch

    def keep(self, incident: Incident) -> None:
        """Remember an incident, folded into one that told the same."""
        since = self.startup.serves_since
        if incident.of_engine and incident.fatal and since is not None and incident.first_line > since:
            self._died_at = min(incident.first_line, self._died_at or incident.first_line)
        root = incident.root
        words = _VARYING.sub("#", root.text.split("\n", 1)[0])[:400]
        own = since is None or incident.of_engine  # what a client pasted may befall the server later
        key = (incident.role, incident.kind, root.exception, words, own)
        process = incident.process or ""
        if known := self._known.get(key):
            known.lines += incident.lines
            if incident.first_line < known.incident.first_line:  # told first, and complete later
                known.incident = incident
            if process and process not in known.processes:
                known.processes.append(process)
            return
        folded = self._known[key] = FoldedIncident(incident, [process] if process else [], incident.lines)
        self.incidents.append(folded)
        if len(self.incidents) > _KEPT:
            # the first tell the cause, the last tell the end
            dropped = self.incidents.pop(_KEPT // 2)
            self._known = {key: kept for key, kept in self._known.items() if kept is not dropped}

    @property
    def last_incident(self) -> int:
        """The last line of anything that went wrong, 0 where nothing did."""
        closed = [folded.incident.last_line for folded in self.incidents]
        still_open = [incident.last_line for incident in self._reader.so_far(over=True)]
        return max([*closed, *still_open], default=0)

    @property
    def failed_once(self) -> bool:
        """Whether something that may be a cause was seen."""
        return self._reader.reading or any(folded.incident.role != "benign" for folded in self.incidents)

    @property
    def end(self) -> Sequence[Line]:
        """The last lines of the log that are this launch's."""
        return [line for line in self.tail if line.number >= self.since]

    @property
    def explained(self) -> bool:
        """Whether anything that went wrong says more than that somebody else failed or is gone."""
        return any(
            folded.incident.role in ("initiating", "teardown") and not folded.incident.died_only
            for folded in self.incidents
        )

    def went_on_after(self, incident: Incident) -> bool:
        """Whether the launch reached another phase after the incident."""
        phases = self.grammar.start.phases
        return any(
            number > incident.last_line and phases.index(phase) > 1
            for phase, number in self.startup.reached.items()
        )


_BEGINNING = 8
"""Lines with which a log begins: a command may stand among them."""
HEAD_LINES = 40
"""Lines at the beginning of a log that are read whatever they say: a log may be cut off in a traceback."""


class Following:
    """Feed it the lines of a log that may hold several launches; `so_far` is the last one, whenever it is asked."""

    def __init__(self, grammar: LogGrammar, watched: Watched | None = None) -> None:
        self._clients = grammar.clients
        self._launch = LaunchLog(grammar, watched or Watched())
        self.tail: deque[Line] = deque(maxlen=TAIL_LINES)
        """The last lines, whoever fed them."""
        self._head: list[Line] = []

    @property
    def launch(self) -> LaunchLog:
        """The last launch, for asking whether it is still the same."""
        return self._launch

    @property
    def startup(self) -> StartUp:
        """Of the last launch."""
        return self._launch.startup

    def settled(self, number: int) -> bool:
        """Whether no incident is open that the line of that number could go on with."""
        return number > HEAD_LINES and self._launch.settled(number)

    def skip(self, line: Line) -> None:
        """Take note of the last of some lines that change nothing."""
        self._launch.take_note(line)
        self._launch.startup.skip(line)

    @property
    def looked_for(self) -> tuple[str, ...]:
        """What stands in a line that shows that the launch has clients; nothing once that is known."""
        startup = self._launch.startup
        return (
            ()
            if startup.serves_since is not None
            else hearsay.signs_of_clients(self._clients, begun=startup.begun)
        )

    def take_note(self, line: Line) -> None:
        """Take a line that changes nothing else for what it says about those that follow it."""
        self._launch.take_note(line)

    def adds_nothing(self, pattern: str) -> bool:
        """Whether one more line that fits what a patch looks for changes nothing of the launch."""
        return self._launch.remarks.full(pattern)

    def feed(self, line: Line, among: Collection[str] | None = None) -> bool:
        """Take a line in; whether it completed an incident, or is one that a patch looks for (`among` these, where that
        is known)."""
        self.tail.append(line)
        if len(self._head) < _BEGINNING and line.message.strip():
            self._head.append(line)
        expired = self._launch.expire(line.number)
        for incident in expired:
            self._launch = _kept(self._launch, incident)
        launch = self._launch
        if launch.begins(line):
            self._launch = launch.next(line.number)
            self._launch.remarks.take_over(launch.remarks, after=launch.last_incident)
        done = self._launch.feed(line, among)
        for incident in done:
            self._launch = _kept(self._launch, incident)
        return bool(done or expired or launch.remarked)

    @property
    def last_read(self) -> int:
        """The last line of an exception's message that may go on, 0 where there is none."""
        return self._launch.last_read

    def so_far(self, *, over: bool = False) -> LaunchLog:
        """The last launch as it would be if the log ended here; more lines may follow, unless it is `over`."""
        launch, still_open = self._launch.copy(over=over)
        for incident in still_open:
            launch = _kept(launch, incident)
        launch.tail = tuple(self.tail)
        launch.head = tuple(self._head)
        if over and not launch.explained and launch.startup.serves_since is None:
            taken = [folded.incident for folded in launch.incidents]
            for incident in alone.incidents(launch.end, taken, launch.grammar):
                launch.keep(incident)
        return launch


def last_launch(lines: Iterable[Line], grammar: LogGrammar, watched: Watched | None = None) -> LaunchLog:
    """The last launch of a log that may hold several."""
    following = Following(grammar, watched)
    for line in lines:
        following.feed(line)
    return following.so_far(over=True)


def _header(line: Line) -> tuple[object, ...]:
    return line.process, line.pid, line.level, line.time, line.file


def _of_kernel(line: Line) -> bool:
    return line.dress in ("kernel ", "dmesg ") and line.process is None and line.level is None


def _kept(launch: LaunchLog, incident: Incident) -> LaunchLog:
    """The launch that an incident belongs to: a program that has ended by an exception ends by no other."""
    believed = incident.of_engine or not launch.served_at(incident.first_line)
    left = any(folded.incident.leaves_program for folded in launch.incidents)
    if believed and incident.leaves_program and left:
        launch = launch.next(incident.first_line)
    launch.keep(incident)
    return launch
