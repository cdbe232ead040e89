"""Which launch of a log is the last one, and what has it come to, as the lines come?

A log may hold several: another one begins where the program says so, or where a second one ends by itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable

from orchestrator.diagnosis import alone, hearsay
from orchestrator.diagnosis.incident import Incident
from orchestrator.diagnosis.launches import LaunchLog
from orchestrator.diagnosis.lines import Line
from orchestrator.diagnosis.remarks import Watched
from orchestrator.diagnosis.standstill import TAIL_LINES
from orchestrator.diagnosis.startup import StartUp
from orchestrator.engines.log_grammar import LogGrammar

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


def _kept(launch: LaunchLog, incident: Incident) -> LaunchLog:
    """The launch that an incident belongs to: a program that has ended by an exception ends by no other."""
    believed = incident.of_engine or not launch.served_at(incident.first_line)
    left = any(folded.incident.leaves_program for folded in launch.incidents)
    if believed and incident.leaves_program and left:
        launch = launch.next(incident.first_line)
    launch.keep(incident)
    return launch
