"""Who deploys on the hosts of a group: the locks of all of them, or none."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType

from orchestrator.loop.lock import Lock
from orchestrator.loop.reading import Reading


class Locks:
    """Held on every host while this context is open. Each deployer takes them in the same order, by what a host is and not by how
    it is called, so that of two who want the same hosts one has them all; where one cannot be had, all are given back."""

    def __init__(self, readings: Sequence[Reading], doing: str) -> None:
        self._readings = readings
        self._doing = doing
        self._held = ExitStack()
        self._locks: dict[int, Lock] = {}

    def __enter__(self) -> Locks:
        order = sorted(enumerate(self._readings), key=lambda numbered: numbered[1].place)
        with self._held:
            for number, reading in order:
                self._locks[number] = self._take(reading)
            self._held = self._held.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    def _take(self, reading: Reading) -> Lock:
        waited = reading.job.report.wait("lock", "for the deployment lock")
        with reading.named(), waited:
            return self._held.enter_context(Lock(reading.job, self._doing))

    def free_since(self, turns: Sequence[str | None]) -> bool:
        """Whether nobody has had any of them since each was seen (`Observed.turn`, in the order of the hosts)."""
        return all(self._locks[number].free_since(turn) for number, turn in enumerate(turns))

    def require(self) -> None:
        """Raise HostError("lock_lost") where one of them is no longer held: nothing is done on any host then."""
        for number, lock in self._locks.items():
            with self._readings[number].named():
                lock.require()

    def of(self, reading: Reading) -> Lock:
        """That of one host."""
        return self._locks[self._readings.index(reading)]

    def doing(self, what: str) -> None:
        """Tell others who look at the locks what is being done now."""
        for number, lock in self._locks.items():
            with self._readings[number].named():
                lock.doing(what)
