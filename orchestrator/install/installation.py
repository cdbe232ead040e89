"""Which engine is installed, from where, and what will that take?"""

from __future__ import annotations

from dataclasses import dataclass, replace

from orchestrator.base.amounts import decimal
from orchestrator.engines.distribution import Installable
from orchestrator.playbook.pinned import PinnedEngine


@dataclass(frozen=True)
class Installation:
    """One release of a kind of engine, or of a router; `indexes` are searched before the host's own, `wheels` is a folder on this machine
    whose wheels are sent: where no index is named nothing else is asked."""

    pinned: PinnedEngine
    kind: Installable
    indexes: tuple[str, ...] = ()
    wheels: str | None = None

    @property
    def likely_bytes(self) -> int | None:
        """That it will take of the host's disk; None where nobody knows."""
        return self.kind.distribution.likely_bytes.get(self.pinned.name)

    @property
    def words(self) -> tuple[str, ...]:
        """What it will do, in sentences."""
        where = f"{self.pinned} in {self.pinned.folder}"
        made = f"make an environment with {where}, by uv; no other Python is touched"
        likely = self.likely_bytes
        sent = (self._sent,) if self.wheels else ()
        return (*sent, made, *([f"it will likely take {decimal(likely)} of the disk"] if likely else []))

    @property
    def _sent(self) -> str:
        alone = "" if self.indexes else "; no index is asked"
        return f"send the wheels of {self.wheels} on this machine, as far as they are not there{alone}"

    def without_gpus(self) -> Installation:
        """The same release for a host without GPUs."""
        return replace(self, pinned=self.pinned.without_gpus(self.kind))
