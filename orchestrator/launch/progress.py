"""What is a launch doing while it is waited for, and is there nothing left to wait for?"""

from __future__ import annotations

import threading
import time
from typing import Any, Literal

from orchestrator.base.amounts import duration
from orchestrator.base.events import StepReport
from orchestrator.diagnosis.engine import Diagnosis
from orchestrator.diagnosis.live import Live
from orchestrator.diagnosis.startup import Phase
from orchestrator.launch.other_hosts import ALONE, OtherHosts
from orchestrator.launch.watch import GivenUp
from orchestrator.on_host.secrets.secrets import redact
from orchestrator.programs.watch import Labour

LINGER_SECONDS = 2.0
"""How long an engine may live on after a failure that dooms it: its other ranks tell theirs in that time, and
whatever does not end by then (a rank caught in a call) would be waited for until the time is over."""
WORTH_A_WORD_SECONDS = 1.0
COMPUTING = ("starting", "configuring", "profiling", "compiling", "capturing graphs")
"""Phases in which processor time is progress."""
WORTH_READING = 1 << 20
"""Bytes from disks between two heartbeats that are a sign of life."""
WORTH_COMPUTING = 0.2
"""Likewise seconds of processor time."""
SHORT = {"loading weights": "weights", "capturing graphs": "graphs", "downloading": "download"}
APART_SECONDS = 60.0
"""How long ranks of one launch may wait where all meet once those of every host do: they have nothing to do but to find each
other, which takes seconds."""
FOR_GOOD_SECONDS = 24 * 3600.0
"""How long is said to be silent what waits there in vain: longer than any phase may take."""
Past = Literal["new", "older", "healthy"]
"""What was before this run followed a launch: nothing, since the run started it itself; nobody knows what, since another
run did, and it may have served for days; or a completion came out of it."""


class Progress:
    """What a launch is doing, told when it changes and while it is waited for; a finding is told as its lines arrive.

    `spread`: its ranks compute together with those of its `peers`.
    """

    def __init__(
        self,
        live: Live,
        past: Past = "new",
        *,
        served: bool = False,
        peers: OtherHosts = ALONE,
        spread: bool = False,
    ) -> None:
        self.step: StepReport | None = None
        self.completion_failed = False
        """Whether a completion of our own failed."""
        self.answered = served
        """Whether its server is known to have come up, whatever the log says."""
        self._live = live
        self._past = past
        self._peers = peers
        self._spread = spread
        self._waits_since: float | None = None
        self._told = "starting"
        self._phase_told = ""
        self._reached: dict[str, float] = {}
        self._doomed_since: float | None = None
        self._one_at_a_time = threading.Lock()
        self._life = time.monotonic()
        self._work: Labour | None = None
        self._hangs = False

    @property
    def idle_seconds(self) -> float:
        """How long there has been neither a line nor work that is progress."""
        now = time.monotonic()
        since = self._waits_since
        if self._spread and since is not None and now - since > APART_SECONDS:
            return FOR_GOOD_SECONDS  # which of itself is no hang: all others must wait there too
        return now - self._life

    @property
    def waits(self) -> bool:
        """Whether its ranks wait for those of other hosts where all meet."""
        return self._spread and self._waits_since is not None

    def log(self, chunk: bytes) -> None:
        """Take bytes of the log that arrived together."""
        with self._one_at_a_time:
            self._life, self._hangs = time.monotonic(), False
            for phase in self._live.feed(chunk):
                self._phase(phase)
            self._waits_since = (self._waits_since or time.monotonic()) if self._live.waits else None
            if diagnosis := self._live.look():
                self._finding(diagnosis)
            if not self._live.doomed:
                self._doomed_since = None
            elif self._doomed_since is None:
                self._doomed_since = time.monotonic()

    @property
    def serves(self) -> bool:
        """Whether the server came up, so that clients write into its log as well."""
        return self.answered or self._live.served

    def given_up(self) -> GivenUp | None:
        """Whether the launch has failed for good and only lingers, or stands still for longer than its phase may.

        One of several hosts stands still where all of them do. What the log says of a server counts only where a completion of our own failed at its start as well.
        """
        believed = self._past == "new" and self.completion_failed
        if self._past == "healthy" or (self.serves and not believed):
            self._peers.all_still(not self._spread)  # whose head serves is waited for by nobody
            return None
        since = self._doomed_since
        if since is not None and time.monotonic() - since > LINGER_SECONDS:
            return "lingering"
        return "hanging" if self._peers.all_still(self._hangs) else None

    def _phase(self, phase: Phase) -> None:
        self._reached.setdefault(phase.name, time.monotonic())
        text = phase_text(phase)
        if text != self._phase_told:
            self._phase_told = text
            self._tell(text, phase=phase.name, done=phase.done, total=phase.total, eta=phase.eta_seconds)

    def _finding(self, diagnosis: Diagnosis) -> None:
        finding, cause = diagnosis.finding, diagnosis.root_cause
        if finding is not None and cause is not None:
            self._tell(
                f"failing: {finding.title}",
                finding=finding.patch,
                process=cause.process,
                root_cause=redact(cause.text),
            )

    def waited(self, seconds: float, work: Labour) -> None:
        """Another heartbeat of the host: what its processes did since the last one may be a sign of life."""
        with self._one_at_a_time:  # the log arrives in a thread of its own
            if self._works(work):
                self._life = time.monotonic()
            self._work = work
            self._hangs = self._live.now(self.idle_seconds).verdict == "hang"
        self._tell(self._told, waited=round(seconds, 1))

    def _works(self, work: Labour) -> bool:
        """Reading from a disk is progress; so is computing while kernels are compiled. Ranks that wait for each other
        compute as well: they spin."""
        if self._work is None:
            return False
        read, cpu = work.read_bytes - self._work.read_bytes, work.cpu_seconds - self._work.cpu_seconds
        compiles = self._live.phase.name in COMPUTING
        return read > WORTH_READING or (compiles and cpu > WORTH_COMPUTING)

    def _tell(self, text: str, **data: Any) -> None:
        self._told = text
        if self.step is not None:
            self.step.progress(text, **data)

    def summary(self, end: str) -> str:
        """What a launch spent its time on, as far as it was followed, and its end: "weights 3m10s, graphs 41s, healthy"."""
        spent = []
        times = [*self._reached.values(), time.monotonic()]
        for name, began, ended in zip(self._reached, times, times[1:], strict=False):
            if ended - began >= WORTH_A_WORD_SECONDS:
                spent.append(f"{SHORT.get(name, name)} {duration(ended - began)}")
        return ", ".join([*spent, end])


def phase_text(phase: Phase) -> str:
    """A start-up phase in words: "loading weights 71/119"."""
    return f"{phase.name} {phase.done}/{phase.total}" if phase.total else phase.name
