"""Which finding does a log show while it is still being written? Pure, no I/O.

At every moment the answer is that of `diagnose` on what has arrived; it may be taken back by what follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.diagnosis.engine import judge
from orchestrator.diagnosis.launches import LaunchLog
from orchestrator.diagnosis.remarks import Watched
from orchestrator.diagnosis.root import root_of
from orchestrator.diagnosis.scan import Scanner
from orchestrator.diagnosis.startup import Phase
from orchestrator.diagnosis.verdict import Diagnosis
from orchestrator.engines.log_grammar import LogGrammar
from orchestrator.patches.known import Known
from orchestrator.patches.patch import Patch

WRITTEN_SECONDS = 30.0
"""After so long without another line a traceback is no longer being written, by whatever buffers what it passes through."""


class Live:
    """Feed it the log's bytes as they arrive, then ask; asking costs next to nothing while nothing goes wrong."""

    def __init__(self, known: Known, patches: Sequence[Patch], grammar: LogGrammar) -> None:
        self._known = known
        self._patches = patches
        self._scanner = Scanner(grammar, Watched.of(patches, grammar.kind))
        self._following = self._scanner.following
        self._last_read = 0
        self._given: set[str] = set()
        self.served = False
        """Whether a server ever came up in this log: from then on its clients write there as well, another start-up
        among it."""

    def feed(self, chunk: bytes) -> list[Phase]:
        """Take bytes in; gives the phases that the launch went through with them, the present one last."""
        phases = self._scanner.feed(chunk)
        self.served = self.served or any(phase.name == "up" for phase in phases)
        return phases

    @property
    def phase(self) -> Phase:
        """Where the launch is."""
        return self._following.startup.phase

    @property
    def waits(self) -> bool:
        """Whether its ranks wait for others where all of them meet."""
        meeting = self._following.startup.meeting
        return meeting is not None and not meeting.met

    @property
    def context(self) -> int | None:
        """Tokens of one request, where the engine has said before it served that it takes fewer than the model's own."""
        return self._following.startup.context

    def now(self, idle_seconds: float) -> Diagnosis:
        """The diagnosis of all lines so far, after so many seconds without another one."""
        self._scanner.catch_up()
        known = replace(self._known, idle_seconds=idle_seconds)
        launch = self._following.so_far(over=known.ended or idle_seconds >= WRITTEN_SECONDS)
        return judge(launch, known=known, patches=self._patches)

    def look(self) -> Diagnosis | None:
        """The diagnosis so far, where it has a finding that was not given yet.

        An exception need not be complete: nothing may ever follow it in its stream.
        """
        last_read = self._following.last_read
        if not self._scanner.completed and last_read <= self._last_read:
            return None
        self._scanner.completed, self._last_read = False, last_read
        launch = self._following.so_far()
        diagnosis = judge(launch, known=self._known, patches=self._patches)
        if root_of(launch) is None and not _of_an_incident(diagnosis, launch):
            return None  # a line alone may be survived
        if diagnosis.finding is None or diagnosis.finding.patch in self._given:
            return None
        self._given.add(diagnosis.finding.patch)
        return diagnosis

    @property
    def doomed(self) -> bool:
        """Whether a process of the launch has ended by a failure that a patch recognises, and no phase began since.

        A rank that only logs an exception, or one after which the others went on, dooms nothing.
        """
        if not self._given:
            return False
        launch = self._following.so_far()
        root = root_of(launch)
        if root is None or not root.incident.fatal or launch.went_on_after(root.incident):
            return False
        return judge(launch, known=self._known, patches=self._patches).finding is not None


def _of_an_incident(diagnosis: Diagnosis, launch: LaunchLog) -> bool:
    """Whether the root cause is an exception, and not a line beside what went wrong."""
    lines = {raised.line for folded in launch.incidents for raised in folded.incident.chain}
    return diagnosis.root_cause is not None and diagnosis.root_cause.line in lines
