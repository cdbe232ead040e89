"""Which living processes may have made a file in /dev/shm that none of them holds now?

A Python process may close its shared memory and attach to it again by name. What such files are made with is a module or
library that stays mapped: multiprocessing's own extension modules, torch, NCCL. Which one an engine says (`footprint.py`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.on_host.footprint import SharedNames
from orchestrator.on_host.processes import in_use, procs

_MODULES_OF_PYTHON = ("/_posixshmem.", "/_multiprocessing.")
"""Extension modules of Python itself that make shared memory."""
_OF_DEPLOY = "orchestrator.on_host"
"""In the command line of every program that deploy runs on a host (hosts/bootstrap.py): they make no shared memory."""
CLOCK_SECONDS = 10.0
"""How far a process's start, reckoned from the boot, and a file's time may be apart: clocks are set."""


@dataclass(frozen=True)
class Maker:
    """A process, when it started (seconds since 1970), and how the names begin of what it may make."""

    pid: int
    name: str
    started: float
    makes: frozenset[str]

    def may_have_made(self, name: str, changed: float) -> bool:
        return self.started <= changed + CLOCK_SECONDS and name.startswith(tuple(self.makes))


def makes(
    maps: bytes, executable: str, command: str, folder: str, known: Sequence[SharedNames]
) -> frozenset[str]:
    """How the names begin of what a process may make of what is known, from what it has mapped and how it was called.

    A Python whose extension modules are built in shows none of them, so it may make anything that Python makes.
    """
    if f"{folder}/" in command:
        return frozenset(names.begin for names in known)
    python = os.path.basename(executable).startswith("python")
    built_in = _MODULES_OF_PYTHON if python and b"/lib-dynload/" not in maps else ()
    return frozenset(
        names.begin
        for names in known
        if any(part in built_in or part.encode() in maps for part in names.made_with)
    )


def living(uid: int, folder: str, known: Sequence[SharedNames]) -> Iterator[Maker]:
    """The processes of this user that may have made something of what is known, whoever asks left out."""
    for pid in in_use.everybody():
        process = procs.process(pid)
        if process is None or pid == os.getpid() or procs.owner_uid(pid) != uid:
            continue
        command = procs.command(pid)
        if _OF_DEPLOY in command:
            continue
        maps = procs.read_bytes(f"/proc/{pid}/maps")
        may = makes(maps, procs.read_link(f"/proc/{pid}/exe"), command, folder, known)
        if may:
            yield Maker(pid, procs.name(process), procs.started(process) or 0.0, may)
