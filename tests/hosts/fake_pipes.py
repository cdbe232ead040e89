"""A program whose output is known beforehand."""

from __future__ import annotations

from orchestrator.hosts.pipes import Pipes


class Told(Pipes):
    """Gives these pairs of output and error output, then its status; keeps what was sent to it."""

    def __init__(self, *pairs: tuple[bytes, bytes], status: int = 0, reads: bool = True) -> None:
        self._pairs = list(pairs)
        self._status = status
        self._reads = reads
        self.sent = b""
        self.ended_input = self.closed = self.discarded = False

    def send(self, data: bytes, until: float | None = None) -> None:
        if not self._reads:
            raise BrokenPipeError
        self.sent += data

    def end_input(self) -> None:
        self.ended_input = True

    def receive(self, until: float | None = None) -> tuple[bytes, bytes] | None:
        return self._pairs.pop(0) if self._pairs else None

    def status(self, until: float | None = None) -> int:
        return self._status

    def close(self) -> None:
        self.closed = True

    def discard(self) -> None:
        self.discarded = True
