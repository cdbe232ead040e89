"""Which files in /dev/shm did a launch leave behind, and which of them may go?"""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from orchestrator.on_host import procs

FOLDER = "/dev/shm"
KNOWN = ("psm_*", "sem.mp-*", "sem.loky-*", "vllm_*", "nccl-*", "torch_*")


@dataclass(frozen=True)
class Entry:
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
    def known(self) -> bool:
        return any(fnmatch.fnmatchcase(self.name, pattern) for pattern in KNOWN)


def entries() -> list[Entry]:
    found = []
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
            found.append(Entry(name, status.st_size, status.st_uid, *file, status.st_ctime))
    return found


def mapped_files(text: bytes) -> set[tuple[int, int]]:
    """The (device, inode) pairs in the text of /proc/PID/maps.

    Not the paths: a container's processes show the same file under a path of their own, and another
    file under the same path.
    """
    found = set()
    for line in text.splitlines():
        fields = line.split(None, 5)
        if len(fields) > 4 and fields[4] != b"0":
            major, _, minor = fields[3].partition(b":")
            found.add((os.makedev(int(major, 16), int(minor, 16)), int(fields[4])))
    return found


def opened_files(pid: int, names: Collection[str]) -> set[tuple[int, int]]:
    """The (device, inode) pairs of the descriptors whose target bears one of these names.

    Others are not asked for: the status of a file on a dead NFS server would never come.
    """
    found: set[tuple[int, int]] = set()
    try:
        numbers = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return found
    for number in numbers:
        path = f"/proc/{pid}/fd/{number}"
        if os.path.basename(procs.read_link(path)) in names:
            try:
                status = os.stat(path)
            except OSError:
                continue
            found.add((status.st_dev, status.st_ino))
    return found


def holders(of: Collection[Entry], pids: Iterable[int]) -> dict[str, list[int]]:
    """For each entry that one of these processes has mapped or open: which ones."""
    if not of:
        return {}
    by_file = {(one.device, one.inode): one.name for one in of}
    names = set(by_file.values())
    found: dict[str, list[int]] = {}
    for pid in sorted(pids):
        maps = mapped_files(procs.read_bytes(f"/proc/{pid}/maps"))
        for file in (maps | opened_files(pid, names)) & by_file.keys():
            found.setdefault(by_file[file], []).append(pid)
    return found


@dataclass(frozen=True)
class Claim:
    """What ties entries to a launch.

    `held`: entries (device, inode) that its members had mapped or open. `before`: the names that were
    there when it began, None where unknown. `ended`: when it was over (seconds since 1970), None while
    it lives or where unknown. `consented`: names that the person gave up.
    """

    uid: int
    held: frozenset[tuple[int, int]]
    before: frozenset[str] | None
    ended: float | None = None
    consented: frozenset[str] = frozenset()


def reason_to_keep(one: Entry, claim: Claim, holding: Mapping[str, Collection[int]]) -> str | None:
    """Why an entry stays, or None when it may go.

    A known name is asked for even of what our members had mapped: weights may lie in /dev/shm too.
    """
    if one.name in holding:
        return f"mapped or open by pid {', '.join(map(str, sorted(holding[one.name])))}"
    if not one.known:
        return "unknown name"
    if one.uid != claim.uid:
        return f"owned by {procs.user(one.uid)}"
    if (one.device, one.inode) in claim.held or one.name in claim.consented:
        return None
    if claim.before is None:
        return "may be older than the launch"
    if one.name in claim.before:
        return "older than the launch"
    if claim.ended is not None and one.changed > claim.ended:
        return "younger than the launch's end"
    return None


def clean(claim: Claim) -> tuple[list[Entry], list[tuple[Entry, str]]]:
    """Remove what may go: the removed entries, and the kept ones with the reason."""
    found = entries()
    holding = holders(found, (pid for pid, one in procs.processes().items() if not one.kernel))
    removed, kept = [], []
    for one in found:
        reason = reason_to_keep(one, claim, holding)
        if reason is None:
            try:
                os.unlink(os.path.join(FOLDER, one.name))
            except FileNotFoundError:
                continue
            except OSError as error:
                reason = error.strerror or str(error)
        if reason is None:
            removed.append(one)
        else:
            kept.append((one, reason))
    return removed, kept
