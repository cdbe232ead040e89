"""What is a step: what can be told of it before it is done, and what comes of it?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from orchestrator.job import Job
from orchestrator.launch.failure import Failure
from orchestrator.launch.other_hosts import ALONE, OtherHosts
from orchestrator.launch.server import UnderWay
from orchestrator.plan.plan import Plan

if TYPE_CHECKING:
    from orchestrator.download.exchange import CheckpointExchange
    from orchestrator.launch.attempt import Attempt
    from orchestrator.launch.progress import Past

Onward = Literal["follow", "installed", "fetch", "verify", "launch", "crowded", "done"]
"""Where planning takes up again when a step changed what the steps after it were planned from: with the launch that is
there, with the host as it is now that an engine was installed, with fetching, with the check of what was fetched, with a launch, with one
on cards of which others took memory meanwhile; or nothing is left to do."""


class Stage(IntEnum):
    """What the hosts of a group do together, in this order: no step of a stage begins on one of them before all the others
    have come to the stage, or have nothing left to do."""

    LAUNCH = 1
    """Every checkpoint is there and patched."""
    COMPLETION = 2
    """Every launch is ready."""
    PROVEN = 3
    """A completion came out of those that answer requests."""


@dataclass(frozen=True)
class Effects:
    """What a step will do, in `words` and as figures.

    `files` are what it writes or removes on the host, `starts` and `ends` the processes. `network_bytes` come over the
    network, `seconds` is how long it is expected to take, each None where nobody knows. `depends` says what cannot be
    known before it was done.
    """

    words: tuple[str, ...]
    files: tuple[str, ...] = ()
    starts: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    network_bytes: int | None = 0
    seconds: float | None = None
    depends: str = ""


class Work:
    """What the steps of one list hand to each other: the launch that they follow; `require` raises where the lock is no
    longer held, `proceed` (Halted) where another one of the `peers`, the hosts of the group, has failed."""

    def __init__(
        self,
        job: Job,
        require: Callable[[], None],
        until_end: ExitStack,
        peers: OtherHosts = ALONE,
        exchange: CheckpointExchange | None = None,
    ) -> None:
        self.job = job
        self.require = require
        self._peers = peers
        self.proceed = peers.proceed
        self.exchange = exchange
        """By which hosts of the group give each other the checkpoint; None where each asks the Hub."""
        self.context: int | None = None
        """Tokens of one request, as the server told with its last completion."""
        self._until_end = until_end
        self._attempt: Attempt | None = None
        self._alongside = False

    def follow(self, plan: Plan, launch: UnderWay, *, past: Past) -> None:
        """Follow this launch until the list has ended."""
        from orchestrator.launch.attempt import Attempt

        attempt = Attempt(self.job, plan, launch, past=past, peers=self._peers)
        self._attempt = self._until_end.enter_context(attempt)

    def tell_alongside(self) -> None:
        """Tell until the list has ended how the launch goes that computes for another host."""
        if not self._alongside:
            self._alongside = True
            self._until_end.enter_context(self.attempt.alongside())

    def overheard(self) -> Failure | None:
        """What the launch that is followed, if one is, says now that another host of the group has failed."""
        return self._attempt.overheard() if self._attempt is not None else None

    @property
    def attempt(self) -> Attempt:
        """The launch that is followed: an earlier step of the list began it."""
        assert self._attempt is not None
        return self._attempt


class Step(ABC):
    """One effect of a plan: a frozen value that tells what it will do, and does it.

    What only its doing needs is imported there: a plan is told, and a server that answers confirmed, without any of it.
    """

    name: ClassVar[str]
    together: ClassVar[Stage | None] = None
    """Where it is a barrier for the hosts of a group."""

    @property
    @abstractmethod
    def effects(self) -> Effects: ...

    @property
    def looks_back(self) -> bool:
        """Whether it reads the log of a launch that an earlier run started, and so is done though another host of the group
        has failed meanwhile: that log may have the cause."""
        return False

    def meanwhile(self, work: Work) -> Failure | Onward | None:
        """Look, for a moment, at what goes on while others are waited for at this barrier; an end is as that of `do`."""
        return None

    @abstractmethod
    def do(self, work: Work) -> Failure | Onward | None:
        """Do it. None: on to the next step; a Failure: the launch failed; else what follows is to be planned anew."""

    def as_json(self) -> dict[str, Any]:
        """As `deploy plan --json` tells it."""
        effects = self.effects
        return {
            "name": self.name,
            "effects": [*effects.words, *([effects.depends] if effects.depends else [])],
            "files": list(effects.files),
            "starts": list(effects.starts),
            "ends": list(effects.ends),
            "network_bytes": effects.network_bytes,
            "seconds": effects.seconds,
            "depends": effects.depends or None,
        }
