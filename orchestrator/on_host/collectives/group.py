"""How do the ranks of one collective go: started together, followed together, ended together?"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from orchestrator.on_host.footprint import Footprint
from orchestrator.on_host.removing import shared_memory

_LONGEST_LINE = 1 << 16
_LINES_KEPT = 12
_GRACE_SECONDS = 1.0
"""How long the others may go on once a rank has failed: the first to say so is not always the one that knows why."""
_LEAVING_SECONDS = 5.0


@dataclass(frozen=True)
class Site:
    """What all groups of one test share.

    `python` has torch, `text` is the program of a rank (`rank.py`). `environment` is set on top of the host's own. Ranks may
    take `ready_seconds` until torch is imported, and then be silent for `silent_seconds`.
    """

    python: str
    text: str
    backend: str
    environment: dict[str, str]
    ready_seconds: float
    silent_seconds: float
    footprint: Footprint


@dataclass
class _Rank:
    """A rank's process and what it has printed so far."""

    process: subprocess.Popen[bytes]
    output: IO[bytes]
    pending: bytes = b""
    reports: list[dict[str, Any]] = field(default_factory=list)
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_LINES_KEPT))
    """What it printed besides, the last of it."""

    def take(self) -> bool:
        """Read what it printed; whether that says how far it is."""
        data = os.read(self.output.fileno(), 1 << 16)
        if not data:
            self.output.close()
        *lines, self.pending = (self.pending + data).split(b"\n")
        self.pending = self.pending[-_LONGEST_LINE:]
        before = len(self.reports)
        for line in lines:
            if line.startswith(b'{"rank"'):
                with contextlib.suppress(ValueError):
                    self.reports.append(json.loads(line))
            elif line.strip():
                self.lines.append(line.decode(errors="replace")[:500])
        return len(self.reports) > before

    def values(self, key: str) -> list[Any]:
        return [value[key] for value in self.reports if key in value]

    @property
    def done(self) -> bool:
        return "done" in self.values("at")

    @property
    def failed(self) -> bool:
        return bool(self.values("failed")) or (self.process.poll() is not None and not self.done)


@dataclass(frozen=True)
class Rendezvous:
    """Where the ranks of several hosts meet: at the address and port of the first of all `ranks`; `first` is this host's first."""

    address: str
    port: int
    first: int
    ranks: int


class Ranks:
    """The ranks of one collective over `cards` (UUIDs); `variables` are this one's own, `sizes` (bytes) what it measures. With a
    `meeting` they are part of one over several hosts."""

    def __init__(
        self,
        site: Site,
        cards: Sequence[str],
        variables: dict[str, str],
        sizes: Sequence[int],
        meeting: Rendezvous | None = None,
    ) -> None:
        self.cards, self._site, self._meeting = tuple(cards), site, meeting
        self._folder = tempfile.TemporaryDirectory(prefix="deploy-collective-")
        self._before = frozenset(entry.name for entry in shared_memory.entries())
        self._began = self._moved = time.monotonic()
        self._failed_at: float | None = None
        self._silent = False
        self._ranks: list[_Rank] = []
        try:
            for rank in range(len(cards)):
                self._ranks.append(self._start(rank, variables, sizes))
        except BaseException:
            self._clear()
            raise

    def _start(self, rank: int, variables: dict[str, str], sizes: Sequence[int]) -> _Rank:
        site, meeting = self._site, self._meeting
        settings = {
            "rank": rank + (meeting.first if meeting else 0),
            "ranks": meeting.ranks if meeting else len(self.cards),
            "here": rank,
            "beside": len(self.cards),
            "parent": os.getpid(),
            "store": [meeting.address, meeting.port] if meeting else os.path.join(self._folder.name, "store"),
            "backend": site.backend,
            "sizes": list(sizes),
            "seconds": site.ready_seconds + 10 * site.silent_seconds,
        }
        own = {
            **site.environment,
            **variables,
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
            "CUDA_VISIBLE_DEVICES": ",".join(self.cards) if site.backend == "nccl" else "",
        }
        process = subprocess.Popen(
            [os.path.expanduser(site.python), "-B", "-u", "-c", site.text, json.dumps(settings)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={"NCCL_DEBUG": "WARN", **os.environ, **own},
            cwd=self._folder.name,
            start_new_session=True,
        )
        assert process.stdout is not None
        return _Rank(process, process.stdout)

    @property
    def outputs(self) -> dict[int, _Rank]:
        """Its ranks that may still print something, by descriptor."""
        return {rank.output.fileno(): rank for rank in self._ranks if not rank.output.closed}

    def take(self, rank: _Rank) -> None:
        """Read what one of its ranks printed."""
        if rank.take():
            self._moved = time.monotonic()

    def is_over(self) -> bool:
        """Whether nothing more is to be waited for."""
        now = time.monotonic()
        if any(rank.failed for rank in self._ranks) and self._failed_at is None:
            self._failed_at = now
        ready = all("ready" in rank.values("at") for rank in self._ranks)
        limit = self._moved + self._site.silent_seconds if ready else self._began + self._site.ready_seconds
        if ready and self._meeting and self._at() == "ready":  # those of other hosts may still import torch
            limit = max(limit, self._began + self._site.ready_seconds)
        self._silent = self._failed_at is None and now > limit
        failed = self._failed_at is not None and now > self._failed_at + _GRACE_SECONDS
        return self._silent or failed or all(rank.done or rank.failed for rank in self._ranks)

    def end(self) -> dict[str, Any]:
        """End what still runs, remove what it left in /dev/shm, and say what came of it (an outcome of programs/collective.py)."""
        outcome = self._outcome()
        if outcome["state"] == "done":  # they leave by themselves, and tidy up better than anybody for them
            self._leave(time.monotonic() + _LEAVING_SECONDS)
        self._clear()
        # one that is stuck in the driver is ended by nobody before the driver lets go
        stuck = [rank.process.pid for rank in self._ranks if rank.process.poll() is None]
        return {**outcome, "left": stuck}

    def _clear(self) -> None:
        there = shared_memory.entries()
        holding = shared_memory.holders(there, [rank.process.pid for rank in self._ranks])
        held = frozenset(entry.file for entry in there if entry.name in holding)
        for rank in self._ranks:
            if rank.process.poll() is None:  # not waited for yet, so that the number is still its own
                os.killpg(rank.process.pid, signal.SIGKILL)
        self._leave(time.monotonic() + _LEAVING_SECONDS)
        for rank in self._ranks:
            rank.output.close()
        if held:
            footprint = self._site.footprint
            shared_memory.clean(shared_memory.Claim(os.getuid(), footprint, held=held, before=self._before))
        self._folder.cleanup()

    def _leave(self, deadline: float) -> None:
        for rank in self._ranks:
            with contextlib.suppress(subprocess.TimeoutExpired):
                rank.process.wait(max(0.0, deadline - time.monotonic()))

    def _outcome(self) -> dict[str, Any]:
        ranks = self._ranks
        failures = [value for rank in ranks for value in rank.reports if "failed" in value]
        silent = [number for number, rank in enumerate(ranks) if not rank.done]
        state = "done" if not silent else "silent" if self._silent else "failed"
        code, reason = None, None
        if state == "failed":
            exits = [rank for rank in ranks if rank.process.poll() not in (None, 0)]
            code, reason = "exited", _exit(exits[0] if exits else ranks[silent[0]])
            if failures:
                code, reason = failures[0]["failed"], failures[0]["reason"]
        return {
            "state": state,
            "at": self._at(),
            "ranks_silent": silent if state == "silent" else [],
            "seconds": round(time.monotonic() - self._began, 1),
            "torch": next(iter(ranks[0].values("torch")), None),
            "nccl": next(iter(ranks[0].values("nccl")), None),
            "wrong": sum(sum(rank.values("wrong")) for rank in ranks),
            "measured": self._measured(),
            "code": code,
            "reason": reason,
            "lines": [line for rank in ranks for line in rank.lines if "NCCL WARN" in line][-_LINES_KEPT:],
        }

    def _measured(self) -> list[dict[str, float]]:
        """Of each size that every rank measured what it took, on the average of the ranks."""
        took: dict[int, list[float]] = {}
        for rank in self._ranks:
            for value in rank.reports:
                if "size" in value:
                    took.setdefault(value["size"], []).append(value["seconds"])
        return [
            {"bytes": size, "seconds": sum(seconds) / len(seconds)}
            for size, seconds in sorted(took.items())
            if len(seconds) == len(self._ranks)
        ]

    def _at(self) -> str:
        """How far all of its ranks came."""
        for point in ("checked", "ready"):
            if all(point in rank.values("at") for rank in self._ranks):
                return point
        return "starting"


def unstarted(python: str, error: OSError) -> dict[str, Any]:
    """What comes of ranks whose Python is none: an outcome as `Ranks.end` gives it."""
    return {
        "state": "failed",
        "at": "starting",
        "ranks_silent": [],
        "seconds": 0.0,
        "torch": None,
        "nccl": None,
        "wrong": 0,
        "measured": [],
        "code": "no_python",
        "reason": f"{python} cannot be started: {error.strerror or error}",
        "lines": [],
        "left": [],
    }


def _exit(rank: _Rank) -> str:
    last = rank.lines[-1] if rank.lines else "it said nothing"
    return f"a rank left with exit status {rank.process.poll()}: {last}"


def follow(groups: Sequence[Ranks], controller: int) -> bool:
    """Until each of them is over; False as soon as the other end of `controller` (a descriptor) is closed."""
    while True:
        running = [group for group in groups if not group.is_over()]
        if not running:
            return True
        owners = {number: (group, rank) for group in running for number, rank in group.outputs.items()}
        poll = select.poll()
        for descriptor in (controller, *owners):
            poll.register(descriptor, select.POLLIN)
        for descriptor, _ in poll.poll(200):
            if descriptor == controller:
                if not os.read(controller, 4096):
                    return False
            else:
                group, rank = owners[descriptor]
                group.take(rank)
