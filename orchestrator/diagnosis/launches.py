"""What happened in the last launch of a log?"""

from __future__ import annotations

import copy
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from orchestrator.diagnosis import hearsay
from orchestrator.diagnosis.incident import Incident
from orchestrator.diagnosis.incidents import Incidents, is_usage
from orchestrator.diagnosis.lines import Line
from orchestrator.diagnosis.remarks import Remarks, Watched
from orchestrator.diagnosis.stacks import Stacks
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


def _header(line: Line) -> tuple[object, ...]:
    return line.process, line.pid, line.level, line.time, line.file


def _of_kernel(line: Line) -> bool:
    return line.dress in ("kernel ", "dmesg ") and line.process is None and line.level is None
