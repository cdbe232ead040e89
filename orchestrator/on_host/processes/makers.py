"""Which living processes may have made a file in /dev/shm that none of them holds now?

A Python process may close its shared memory and attach to it again by name. What such files are made with is a module or
library that stays mapped: multiprocessing's own extension modules, torch, NCCL.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator.on_host.processes import in_use, procs

_LIBRARIES = {
    "psm_": (b"/_posixshmem.",),
    "sem.": (b"/_multiprocessing.",),
    "vllm_": (b"/vllm/", b"/libtorch"),
    "nccl-": (b"/libnccl", b"/libtorch"),
    "torch_": (b"/libtorch", b"/libshm"),
}
_OF_DEPLOY = "orchestrator.on_host"
"""In the command line of every program that deploy runs on a host (ssh/ship.py): they make no shared memory."""
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


def makes(maps: bytes, executable: str, command: str, folder: str) -> frozenset[str]:
    """How the names begin of what a process may make, from what it has mapped and how it was called.

    A Python whose extension modules are built in shows none of them, so it may make anything that Python makes.
    """
    found = {start for start, libraries in _LIBRARIES.items() if any(one in maps for one in libraries)}
    python = os.path.basename(executable).startswith("python")
    if python and b"/lib-dynload/" not in maps:
        found |= {"psm_", "sem."}
    if f"{folder}/" in command:
        found |= set(_LIBRARIES)
    return frozenset(found)


def living(uid: int, folder: str) -> Iterator[Maker]:
    """The processes of this user that may have made something, whoever asks left out."""
    for pid in in_use.everybody():
        process = procs.process(pid)
        if process is None or pid == os.getpid() or procs.owner_uid(pid) != uid:
            continue
        command = procs.command(pid)
        if _OF_DEPLOY in command:
            continue
        maps = procs.read_bytes(f"/proc/{pid}/maps")
        may = makes(maps, procs.read_link(f"/proc/{pid}/exe"), command, folder)
        if may:
            yield Maker(pid, procs.name(process), procs.started(process) or 0.0, may)
