"""Which launches does a state folder know, and which living processes are theirs?"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.on_host.kinds import registry
from orchestrator.on_host.kinds.kind import Kind, Launch, Table
from orchestrator.on_host.processes import procs
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.removing import shared_memory
from orchestrator.on_host.state import sightings
from orchestrator.on_host.state.state import boot_id, instances, known_folder, machine_id, read_json


def numbers(state: Path) -> list[int]:
    try:
        names = os.listdir(state / "launches")
    except OSError:
        return []
    return sorted(int(name) for name in names if re.fullmatch("[1-9][0-9]{0,8}", name))


def load(state: Path, number: int) -> Launch | None:
    """The launch of that number; None where it is not on record, or another machine that shares this folder made it.

    Raises Refusal("launch_kind") for one that is held in a way which this release does not know.
    """
    folder = state / "launches" / str(number)
    record = read_json(folder / "process.json")
    if not isinstance(record, dict) or record.get("machine") != machine_id():
        return None
    marker, boot = record.get("marker"), record.get("boot_id")
    if not (isinstance(marker, str) and marker and isinstance(boot, str)):
        return None
    pid, start_time = (_number(record.get(key)) for key in ("pid", "start_time"))
    seen = sightings.load(folder)
    return Launch(number, folder, _kind(record, folder), marker, boot, pid, start_time, record, seen)


def _kind(record: Mapping[str, Any], folder: Path) -> Kind:
    """Records of older releases name none. One of a kind that is not known may live: passed over, it would get a second engine beside it."""
    name = record.get("kind", registry.USUAL.name)
    kind = registry.KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        why = f"{folder} is of a launch of the kind {name!r}, which this release of deploy does not know"
        raise Refusal("launch_kind", f"{why}; the release that started it does")
    return kind


def _number(value: Any) -> int | None:
    return value if type(value) is int and value > 0 else None


def launches(state: Path) -> list[Launch]:
    """The launches of this machine, oldest first."""
    return [launch for launch in (load(state, number) for number in numbers(state)) if launch]


def table() -> Table:
    processes = procs.processes()
    candidates = [pid for pid, process in processes.items() if process.alive and not process.kernel]
    markers = {pid: value for pid in candidates if (value := procs.marker(pid)) is not None}
    return Table(boot_id(), processes, markers, procs.outputs, os.getpid())


def members(launch: Launch, at: Table) -> list[procs.Process]:
    """The living processes of a launch, by pid.

    They carry its marker, are held by its kind (`kind.Kind.held`), descend from such a one, or did so when somebody looked
    (vLLM's workers lose the marker with their environment, and an orphan its descent). The marker of a process that
    somebody else's shell started is a copy: debugging begins with the engine's environment.
    """
    if launch.boot_id != at.boot_id:
        return []
    living = at.living
    ours = {
        pid
        for pid, process in living.items()
        if (at.markers.get(pid) == launch.marker and not _copied(process, launch, at))
        or (pid, process.start_time) in launch.seen.members
    }
    ours |= launch.kind.held(launch, at, ours) & living.keys()
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
    ours = {process.pid for process in members(launch, at)} | {at.own_pid}
    others = (process for pid, process in sorted(at.processes.items()) if pid not in ours)
    return [
        process
        for process in others
        if process.alive and not process.kernel and procs.writes(process.pid, log)
    ]


def supervisor(launch: Launch, at: Table) -> procs.Process | None:
    """The living supervisor of a launch."""
    process = at.processes.get(launch.pid) if launch.pid is not None else None
    if process is None or not process.alive or launch.boot_id != at.boot_id:
        return None
    return process if process.start_time == launch.start_time else None


def engine(launch: Launch, living: Collection[procs.Process], at: Table) -> list[procs.Process]:
    """Those of its living members that are the engine: all but the supervisor."""
    above = supervisor(launch, at)
    return [process for process in living if above is None or process.pid != above.pid]


def choose(state: Path, number: int | None, at: Table) -> Launch | None:
    """The launch asked for; without a number the newest one that has living members, else the newest."""
    if number is not None:
        return load(state, number)
    recorded = launches(state)
    living = [launch for launch in recorded if members(launch, at)]
    newest = living or recorded
    return newest[-1] if newest else None


def served_from(folder: Path) -> list[str]:
    """The deployments that have a living launch which was started with this folder, by whatever path; of one whose state cannot be
    trusted nobody can tell."""
    at = table()
    serving = []
    for instance in instances():
        with contextlib.suppress(Refusal):
            launch = choose(known_folder(instance), None, at)
            words = (launch.command() or {}).get("argv", ()) if launch and members(launch, at) else ()
            if any(_same(word, folder) or _same(word.partition("=")[2], folder) for word in words):
                serving.append(instance)
    return serving


def _same(word: str, folder: Path) -> bool:
    try:
        return os.path.isabs(word) and os.path.samefile(word, folder)
    except (OSError, ValueError):
        return False
