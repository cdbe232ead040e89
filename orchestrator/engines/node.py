"""What is one host of an instance whose model is spread over several?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from orchestrator.base.amounts import duration

Balance: TypeAlias = Literal["internal", "hybrid", "external"]
"""Who shares requests out over copies on several hosts: the head, over all; each host over its own; or whoever asks, since
every copy answers for itself."""
Through: TypeAlias = Literal["engine", "ray"]
"""By what the ranks of several hosts are started: the engine's own way over hosts, or a Ray of the launch's own."""
MEETING_PORT = 29501
"""Where the head's ranks are met by those of the other hosts, unless the playbook names another port (torch's own is 29500,
which a training on the same host is likely to have)."""
PATIENCE_SECONDS = 60
SLOW_BYTES_PER_SECOND = 1e9
"""What the slowest of hosts is expected to read of a checkpoint: ranks that have loaded wait for it."""


@dataclass(frozen=True)
class Node:
    """One of `of` hosts, counted from 0: the head (0) answers requests, the others only compute for it, unless `balance` says more.

    `head` is the address by which the others reach the head, `port` where its ranks are met. `address` and `interface` are
    this host's own on the network that all of them share. `patience` (seconds) is how long a rank waits for another one.
    `through` is None where nobody says it: the engine's own way, where its release has one.
    """

    rank: int
    of: int
    head: str
    port: int
    address: str
    interface: str
    patience: int = PATIENCE_SECONDS
    balance: Balance = "internal"
    through: Through | None = None

    @property
    def serves(self) -> bool:
        """Whether this host answers requests."""
        return self.rank == 0 or self.balance != "internal"

    @property
    def role(self) -> str:
        """A word for people."""
        return f"worker {self.rank}" if self.rank else "head"

    @property
    def why_patient(self) -> str:
        """Why ranks wait for each other just so long."""
        return f"a rank that is missing is told after {duration(self.patience)}, not after half an hour"


def patience(weights_bytes: int | None, hosts: int) -> int:
    """Seconds that a rank waits for another: a minute, and as long as a slow host takes to read its share of the weights."""
    return PATIENCE_SECONDS + round((weights_bytes or 0) / hosts / SLOW_BYTES_PER_SECOND)
