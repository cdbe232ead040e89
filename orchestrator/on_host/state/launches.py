"""Which launches does a state folder know, and which living processes are theirs?"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from orchestrator.on_host.files import regular_file
from orchestrator.on_host.footprint import Footprint
from orchestrator.on_host.processes import in_use, procs
from orchestrator.on_host.removing import shared_memory
from orchestrator.on_host.state import sightings
from orchestrator.on_host.state.state import boot_id, machine_id, read_json

_EXIT_BYTES = 64


@dataclass(frozen=True)
class Launch:
    """One start of the engine as `launches/N/process.json` records it.

    `pid` and `start_time` are those of the supervisor, which leads the session of the same number;
    None when the launch was cut off before it was recorded. `seen` is what earlier looks saw of it.
    """

    number: int
    folder: Path
    marker: str
    boot_id: str
    pid: int | None
    start_time: int | None
    record: Mapping[str, Any]
    seen: sightings.Sightings = field(default_factory=sightings.Sightings)

    @property
    def log(self) -> Path:
        """What the engine printed; where a broken record does not tell, the log in the launch's folder."""
        recorded = self.record.get("log")
        name = os.path.basename(recorded) if isinstance(recorded, str) else ""
        if name.endswith(".log"):
            return self.folder / name
        return next(self.folder.glob("*.log"), self.folder / "engine.log")

    @property
    def footprint(self) -> Footprint | None:
        """What its engine leaves on a host; None where an older release recorded it."""
        with contextlib.suppress(ValueError):
            return Footprint.of(self.record.get("footprint"))
        return None

    def shm_before(self, boot: str) -> frozenset[str] | None:
        """The names in /dev/shm when this launch began; None where that was in another boot."""
        names = self.record.get("shm_before")
        if not isinstance(names, list) or self.boot_id != boot:
            return None
        return frozenset(name for name in names if isinstance(name, str))

    def shm_held(self, boot: str) -> frozenset[in_use.File]:
        """The entries of /dev/shm that members were seen to hold, in this boot."""
        return self.seen.shm if self.boot_id == boot else frozenset()

    def adopters(self) -> frozenset[sightings.Identity] | None:
        """Who stood above the supervisor and may have adopted what its engine left behind; None where not on record."""
        with contextlib.suppress(TypeError, KeyError, ValueError):
            return sightings.pairs(self.record["adopters"])
        return None

    def exit_code(self) -> int | None:
        """What the supervisor recorded: 128 + N for an engine ended by signal N, 127 for none found."""
        try:
            code = int(regular_file.read(self.folder / "exit", _EXIT_BYTES))
        except (regular_file.Unfit, ValueError):
            return None
        return code if code < 256 else 128 + code % 128  # ksh says 256 + N, yash 384 + N

    def command(self) -> dict[str, Any] | None:
        """What was started, as `on_host/programs/launch.py` wrote it; None where that is not on record."""
        found = read_json(self.folder / "command.json")
        sound = isinstance(found, dict) and isinstance(found.get("note"), (dict, type(None)))
        argv = found.get("argv") if sound else None
        return found if isinstance(argv, list) and all(isinstance(item, str) for item in argv) else None

    def ended_at(self) -> float | None:
        """When the supervisor recorded the exit status (seconds since 1970)."""
        try:
            return (self.folder / "exit").stat().st_mtime
        except OSError:
            return None


def numbers(state: Path) -> list[int]:
    try:
        names = os.listdir(state / "launches")
    except OSError:
        return []
    return sorted(int(name) for name in names if re.fullmatch("[1-9][0-9]{0,8}", name))


def load(state: Path, number: int) -> Launch | None:
    """The launch of that number; None where it is not on record, or another machine that shares this folder made it."""
    folder = state / "launches" / str(number)
    record = read_json(folder / "process.json")
    if not isinstance(record, dict) or record.get("machine") != machine_id():
        return None
    marker, boot = record.get("marker"), record.get("boot_id")
    if not (isinstance(marker, str) and marker and isinstance(boot, str)):
        return None
    pid, start_time = (_number(record.get(key)) for key in ("pid", "start_time"))
    return Launch(number, folder, marker, boot, pid, start_time, record, sightings.load(folder))


def _number(value: Any) -> int | None:
    return value if type(value) is int and value > 0 else None


def launches(state: Path) -> list[Launch]:
    """The launches of this machine, oldest first."""
    return [launch for launch in (load(state, number) for number in numbers(state)) if launch]


@dataclass(frozen=True)
class Table:
    """The processes of one moment with what tells whose they are."""

    boot_id: str
    processes: Mapping[int, procs.Process]
    markers: Mapping[int, str]
    outputs: Mapping[int, Collection[str]]
    own_pid: int


def table() -> Table:
    seen = procs.processes()
    candidates = [pid for pid, one in seen.items() if one.alive and not one.kernel]
    markers = {pid: value for pid in candidates if (value := procs.marker(pid)) is not None}
    return Table(boot_id(), seen, markers, {pid: procs.outputs(pid) for pid in candidates}, os.getpid())


def members(launch: Launch, at: Table) -> list[procs.Process]:
    """The living processes of a launch, by pid.

    They carry its marker, are of its session, descend from such a one, or did so when somebody looked (vLLM's workers
    lose the marker with their environment, and an orphan its descent). The marker of a process that somebody else's shell
    started is a copy: debugging begins with the engine's environment. The kernel keeps a session's number from reuse
    while any process is in it. So as long as the leader is there, its start time decides. When it is gone the session may
    be ours without its leader or a later one without its own; then one of its processes must be ours by marker, by an
    earlier look, or print into our log. The log alone makes nobody ours: `tee -a`, a script of the user's, an editor
    have it open as well.
    """
    if launch.boot_id != at.boot_id:
        return []
    living = {pid: process for pid, process in at.processes.items() if process.alive}
    ours = {
        pid
        for pid, process in living.items()
        if (at.markers.get(pid) == launch.marker and not _copied(process, launch, at))
        or (pid, process.start_time) in launch.seen.members
    }
    if launch.pid is not None:
        session = {pid for pid, process in living.items() if process.session == launch.pid}
        leader = at.processes.get(launch.pid)
        log = os.path.realpath(launch.log)
        witnesses = session & ours or {pid for pid in session if log in at.outputs.get(pid, ())}
        if leader.start_time == launch.start_time if leader else witnesses:
            ours |= session
    grown = -1
    while grown != len(ours):
        grown = len(ours)
        ours |= {pid for pid, process in living.items() if process.parent in ours}
    ours -= procs.lineage(at.own_pid, at.processes)  # whoever asks is never part of the answer
    return [living[pid] for pid in sorted(ours)]


def _copied(process: procs.Process, launch: Launch, at: Table) -> bool:
    """Whether a marked process got the marker by other ways than from its parents, unless a parent of it is ours.

    Outside the session a child of ours has one of ours for its parent, or is an orphan: then its parent is the first process
    of all, or one above the supervisor that adopts (prctl PR_SET_CHILD_SUBREAPER).
    """
    parent = at.processes.get(process.parent)
    if launch.pid is None or launch.start_time is None or process.session == launch.pid:
        return False
    if parent is None or not parent.alive or parent.pid == 1:
        return False
    adopters = launch.adopters()
    if adopters is None:  # a record of an older release
        return parent.start_time > launch.start_time
    above = supervisor(launch, at)
    adopted = above is not None and parent.pid == above.parent
    return not adopted and (parent.pid, parent.start_time) not in adopters


def look(launch: Launch, at: Table) -> tuple[list[procs.Process], Launch]:
    """The living members, and the launch with what was seen of it.

    That is noted for later looks, when session, parent and marker may tell nothing any more.
    """
    seen = sightings.load(launch.folder).joined(launch.seen)
    launch = replace(launch, seen=seen)
    living = members(launch, at)
    leaves = launch.footprint
    entries = [
        entry
        for entry in shared_memory.entries()
        if entry.file not in seen.shm and (leaves is None or leaves.knows(entry.name))
    ]
    held = shared_memory.holders(entries, [process.pid for process in living])
    shm = [entry.file for entry in entries if entry.name in held]
    return living, replace(launch, seen=sightings.note(launch.folder, seen, living, shm))


def writers(launch: Launch, at: Table) -> list[procs.Process]:
    """The living processes that write into the log of a launch and are none of its members."""
    log = os.path.realpath(launch.log)
    known = {process.pid for process in members(launch, at)} | {at.own_pid}
    others = (process for pid, process in sorted(at.processes.items()) if pid not in known)
    return [
        process
        for process in others
        if process.alive and not process.kernel and procs.writes(process.pid, log)
    ]


def supervisor(launch: Launch, at: Table) -> procs.Process | None:
    """The living supervisor of a launch."""
    one = at.processes.get(launch.pid) if launch.pid is not None else None
    alive = one is not None and one.alive and launch.boot_id == at.boot_id
    return one if alive and one is not None and one.start_time == launch.start_time else None


def choose(state: Path, number: int | None, at: Table) -> Launch | None:
    """The launch asked for; without a number the newest one that has living members, else the newest."""
    if number is not None:
        return load(state, number)
    known = launches(state)
    living = [launch for launch in known if members(launch, at)]
    newest = living or known
    return newest[-1] if newest else None
