"""What did looks at a launch see while it could be seen: which processes were its own, which shared memory they held?

A worker that left the session and whose parent died shows no more whose it was; a file in /dev/shm whose process died
never tells. Kept in `launches/N/seen.json`, for the boot in which the launch was made.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from orchestrator.on_host.processes import procs
from orchestrator.on_host.processes.in_use import File
from orchestrator.on_host.state.state import read_json, write_json

Identity = tuple[int, int]
"""Pid and kernel start time: they name a process for as long as the machine is up."""


@dataclass(frozen=True)
class Sightings:
    """The members of a launch and its files in /dev/shm that any look has seen."""

    members: frozenset[Identity] = frozenset()
    shm: frozenset[File] = frozenset()

    def joined(self, other: Sightings) -> Sightings:
        return Sightings(self.members | other.members, self.shm | other.shm)


def load(folder: Path) -> Sightings:
    """What was noted in a launch's folder; nothing where the note is missing or broken."""
    note = read_json(folder / "seen.json")
    with contextlib.suppress(TypeError, KeyError, ValueError, OverflowError):
        return Sightings(pairs(note["members"]), pairs(note["shm"]))
    return Sightings()


def pairs(listed: Collection[Collection[int]]) -> frozenset[tuple[int, int]]:
    return frozenset((int(first), int(second)) for first, second in listed)


def note(
    folder: Path, before: Sightings, members: Collection[procs.Process], shm: Collection[File]
) -> Sightings:
    """Add what a look saw, and keep it; processes that died since are dropped, shared memory outlives them."""
    seen = frozenset((member.pid, member.start_time) for member in members)
    if seen <= before.members and before.shm.issuperset(shm):
        return before
    living = {
        (pid, start_time)
        for pid, start_time in before.members
        if (now := procs.process(pid)) and now.start_time == start_time
    }
    after = Sightings(seen | living, before.shm.union(shm))
    with contextlib.suppress(OSError):  # a full disk: a look must go on without it
        write_json(folder / "seen.json", {"members": sorted(after.members), "shm": sorted(after.shm)})
    return after
