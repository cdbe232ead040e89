"""How are the ranks of one host started, led step by step, and seen to die?"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
from collections.abc import Iterable

from .printing import pause
from .settings import StandInSettings
from .worker import Worker

FIRST = 4
"""The rank that is started first on a host, and that fails first."""
LOOK_SECONDS = 0.05
LOST = "Executor failed."


class LocalRanks:
    """The processes of one host's ranks, children of this one; `inherited` is what is none of theirs."""

    def __init__(self, settings: StandInSettings, inherited: socket.socket | None = None) -> None:
        self._settings = settings
        self._inherited = inherited
        self._reports, self._report = os.pipe()
        self._go: dict[int, int] = {}
        self.pids: dict[int, int] = {}
        self._alive: dict[int, int] = {}
        own = settings.own
        self._lead = own.start
        self._order = sorted(own, key=lambda rank: (rank - own.start != FIRST, (rank - own.start) * 5 % 8))

    def come_up(self) -> bool:
        """From their start until they hold the weights; whether all of them came through."""
        for rank in self._order:
            self._start(rank)
            pause(0.06)
        lead, rest = [self._lead], [rank for rank in self._settings.own if rank != self._lead]
        if self._settings.nodes > 1:  # the others have nobody to meet before it has
            if not (self.step(lead) and self.step(rest)):
                return False
        elif not self.step(self._order):
            return False
        first, *others = self._order
        chosen = self.step([first])
        if not (self.step(others) and chosen):  # each rank has its say
            return False
        return self.step(lead) and self.step(rest)

    def all_step(self) -> bool:
        return self.step(self._order)

    def compute(self) -> str:
        """Have the first of them answer a request with those of other hosts; gives what it failed by, or nothing."""
        os.write(self._go[self._lead], b"g")
        while not select.select([self._reports], [], [], LOOK_SECONDS)[0]:
            if self.killed() is not None:
                return LOST
        report = os.read(self._reports, 4096).decode()
        return report[1:]

    def step(self, ranks: Iterable[int]) -> bool:
        """Let these ranks take their next step; whether all of them came through."""
        waiting = 0
        for rank in ranks:
            os.write(self._go[rank], b"g")
            waiting += 1
        well = True
        while waiting:
            if select.select([self._reports], [], [], LOOK_SECONDS)[0]:
                waiting -= 1
                well = os.read(self._reports, 1) == b"k" and well
            elif self.killed() is not None:
                return False
        return well

    def killed(self) -> tuple[int, int] | None:
        """A rank that a signal has ended since this was asked, and the signal."""
        for rank, pid in list(self._alive.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del self._alive[rank]
                if os.WIFSIGNALED(status):
                    return rank, os.WTERMSIG(status)
        return None

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        for pid in self.pids.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _start(self, rank: int) -> None:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            if self._inherited is not None:
                self._inherited.close()
            ignored = self._settings.node > 0  # the ranks of a headless host wait for their parent
            signal.signal(signal.SIGTERM, signal.SIG_IGN if ignored else signal.SIG_DFL)
            Worker(self._settings, rank, reading, self._report).run()
        os.close(reading)
        self._go[rank] = writing
        self._alive[rank] = self.pids[rank] = pid
