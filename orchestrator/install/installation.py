"""Which engine is installed, from where, and what will that take?"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.base.amounts import decimal
from orchestrator.engines.protocol import Engine
from orchestrator.playbook.pinned import PinnedEngine


@dataclass(frozen=True)
class Installation:
    """One release of a kind of engine; `indexes` are searched before the host's own."""

    pinned: PinnedEngine
    kind: Engine
    indexes: tuple[str, ...] = ()

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
        return (made, f"it will likely take {decimal(likely)} of the disk") if likely else (made,)

    def without_gpus(self) -> Installation:
        """The same release as a host without GPUs takes it, where there is a package for such hosts."""
        name = self.kind.distribution.without_gpus.get(self.pinned.name, self.pinned.name)
        return Installation(PinnedEngine(name, self.pinned.version), self.kind, self.indexes)
