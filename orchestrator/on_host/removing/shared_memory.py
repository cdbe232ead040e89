"""Which files in /dev/shm did a launch leave behind, and which of them may go?"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from orchestrator.on_host.footprint import Footprint
from orchestrator.on_host.processes import in_use, makers, procs
from orchestrator.on_host.removing import removal

FOLDER = "/dev/shm"
DOUBT = "may be of "
"""So begins the reason of what stays because nobody knows whether it is a launch's or a living process's."""
LIVES = ", which lives and may attach to it by name"
"""So ends the reason where that process is known."""
_FIRST_OF_PIDS, _FIRST_OF_IPC = "pid:[4026531836]", "ipc:[4026531839]"
"""The namespaces of the machine itself (include/linux/proc_ns.h)."""


@dataclass(frozen=True)
class ShmFile:
    """A regular file in /dev/shm: its size in bytes, its owner, and what names it across namespaces.

    `changed` is its inode's change time (seconds since 1970), which for a file that is written through
    a mapping stays the time of its making.
    """

    name: str
    bytes: int
    uid: int
    device: int
    inode: int
    changed: float

    @property
    def file(self) -> in_use.File:
        return (self.device, self.inode)


def entries() -> list[ShmFile]:
    files = []
    try:
        names = sorted(os.listdir(FOLDER))
    except OSError:
        return []
    for name in names:
        try:
            status = os.lstat(os.path.join(FOLDER, name))
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            file = (status.st_dev, status.st_ino)
            files.append(ShmFile(name, status.st_size, status.st_uid, *file, status.st_ctime))
    return files


def holders(of: Collection[ShmFile], pids: Iterable[int]) -> dict[str, list[int]]:
    """For each entry that one of these processes has mapped or open: which ones."""
    names = {entry.file: entry.name for entry in of}
    return {names[file]: users for file, users in in_use.users(names, pids).items()}


@dataclass(frozen=True)
class Claim:
    """What ties entries to a launch.

    `footprint`: what its engine leaves on a host. `held`: entries (device, inode) that its members had mapped or open. `before`: the names that were
    there when it began, None where unknown. `ended`: when it was over (seconds since 1970), None while
    it lives or where unknown. `consented`: names that the person gave up. `makers`: living processes of this user that
    are not the launch's. `unseen`: processes share /dev/shm that cannot be seen from here.
    """

    uid: int
    footprint: Footprint
    held: frozenset[tuple[int, int]]
    before: frozenset[str] | None
    ended: float | None = None
    consented: frozenset[str] = frozenset()
    makers: tuple[makers.Maker, ...] = ()
    unseen: bool = False


def shared_with_unseen() -> bool:
    """Whether processes share /dev/shm that cannot be seen from here: in a container with the machine's own (`--ipc=host`)."""
    names = [procs.read_link(f"/proc/self/ns/{kind}") for kind in ("pid", "ipc")]
    return names[0] not in ("", _FIRST_OF_PIDS) and names[1] == _FIRST_OF_IPC


def reason_to_keep(entry: ShmFile, claim: Claim, holding: Mapping[str, Collection[int]]) -> str | None:
    """Why an entry stays, or None when it may go.

    A known name is asked for even of what our members had mapped: weights may lie in /dev/shm too.
    """
    if entry.name in holding:
        return f"mapped or open by pid {', '.join(map(str, sorted(holding[entry.name])))}"
    if not claim.footprint.knows(entry.name):
        return "unknown name"
    if entry.uid != claim.uid:
        return f"owned by {procs.user(entry.uid)}"
    if entry.name in claim.consented:
        return None
    held = entry.file in claim.held
    new = claim.before is not None and entry.name not in claim.before
    if not held and not new:
        return "may be older than the launch" if claim.before is None else "older than the launch"
    if not held and claim.ended is not None and entry.changed > claim.ended:
        return "younger than the launch's end"
    if not held and claim.unseen:
        return f"{DOUBT}a process outside this container, which cannot be seen from here"
    if not (held and new):
        for maker in claim.makers:
            if maker.may_have_made(entry.name, entry.changed):
                return f"{DOUBT}pid {maker.pid} ({maker.name}){LIVES}"
    return None


def clean(claim: Claim) -> tuple[list[ShmFile], list[tuple[ShmFile, str]]]:
    """Remove what may go: the removed entries, and the kept ones with the reason."""
    there = entries()
    used = in_use.users({entry.file: entry.name for entry in there}, in_use.everybody())
    holding = {entry.name: used[entry.file] for entry in there if entry.file in used}
    removed, kept = [], []
    for entry in there:
        reason = reason_to_keep(entry, claim, holding)
        if reason is None:
            try:
                reason = removal.take(FOLDER, entry.name, used=used, expect=entry.file)
            except FileNotFoundError:
                continue
        if reason is None:
            removed.append(entry)
        else:
            kept.append((entry, reason))
    return removed, kept
