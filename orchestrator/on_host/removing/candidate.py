"""May what lies under a name be taken away?"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from orchestrator.on_host.files import trusted
from orchestrator.on_host.processes import in_use, procs

NETWORK = (
    "nfs", "nfs4", "cifs", "smb3", "lustre", "gpfs", "beegfs", "ceph", "fuse.ceph", "glusterfs", "fuse.glusterfs", "wekafs", "afs",
    "pvfs2", "fuse.juicefs", "fuse.sshfs",
)  # fmt: skip
"""On some of them (Lustre, GPFS) flock succeeds for everybody, and none shows who has a file open elsewhere."""


@dataclass(frozen=True)
class Candidate:
    """What lies under a name itself, whatever a link leads to, and the folder that it lies in.

    `kind` is "file", "link", "folder" or "other". `network`: it has to be local, and is not. `strangers`: owners of
    what lies in a folder, however deep. `holds`: a place in a folder, or the folder itself, that is no cache. `others`:
    names besides this one that lead to a file. `users`: pids that have it, or something in it, mapped or open.
    """

    kind: str
    uid: int
    room_uid: int
    room_mode: int
    shared: bool = False
    mounted: bool = False
    network: bool = False
    strangers: frozenset[int] = frozenset()
    unseen: bool = False
    holds: str | None = None
    others: tuple[str, ...] = ()
    users: tuple[int, ...] = ()


def reason_to_keep(candidate: Candidate, owners: Collection[int]) -> str | None:
    """Why it stays, or None when it may go; `owners` are those whose things this person may remove."""
    if candidate.kind == "other":
        return "it is neither a file nor a folder"
    if candidate.uid not in owners:
        return f"it is owned by {procs.user(candidate.uid)}"
    if candidate.room_uid not in owners and not candidate.room_mode & stat.S_ISVTX:
        return f"it lies in a folder of {procs.user(candidate.room_uid)}"
    if candidate.mounted:
        return "something is mounted there"
    if candidate.network:
        return "it lies on a network file system, where another machine may use it"
    if candidate.holds:
        return f"it holds {candidate.holds}"
    if candidate.shared:
        return "others may write in it"
    if candidate.strangers - set(owners):
        return f"it holds files of {', '.join(procs.user(uid) for uid in sorted(candidate.strangers - set(owners)))}"
    if candidate.unseen:
        return "it cannot be looked through"
    if candidate.others:
        return f"{candidate.others[0]} leads to it as well"
    if candidate.users:
        return f"a running process uses it: {_named(candidate.users)}"
    return None


def look(
    room: int,
    place: str,
    status: os.stat_result,
    others: Collection[str],
    used: Mapping[in_use.File, Collection[int]] | None,
    never: Collection[str],
    local: bool,
) -> Candidate:
    """What lies at `place`, in the open folder `room`; `never` are places that a folder may not hold."""
    around = os.fstat(room)
    there = mounts()
    kind = _kind(status.st_mode)
    file = (status.st_dev, status.st_ino)
    names = {file: os.path.basename(place)}
    strangers: set[int] = set()
    visible = True
    if kind == "folder":
        visible = _walk(room, os.path.basename(place), names, strangers)
    if used is None:
        used = in_use.users(names, in_use.everybody(), below=place if kind == "folder" else None)
    return Candidate(
        kind=kind,
        uid=status.st_uid,
        room_uid=around.st_uid,
        room_mode=around.st_mode,
        shared=kind == "folder" and trusted.open_to_others(status),
        mounted=kind != "link"
        and (status.st_dev != around.st_dev or any(_within(mount, place) for mount in there)),
        network=local and _network(place, there),
        strangers=frozenset(strangers),
        unseen=not visible,
        holds=next((path for path in never if kind == "folder" and _within(path, place)), None),
        others=tuple(others),
        users=tuple(sorted({pid for each in names if kind != "link" for pid in used.get(each, ())})),
    )


def _kind(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISLNK(mode):
        return "link"
    return "folder" if stat.S_ISDIR(mode) else "other"


def _walk(room: int, name: str, names: dict[in_use.File, str], strangers: set[int]) -> bool:
    """Gather what lies in a folder and whose it is; whether all of it could be seen."""
    failed: list[OSError] = []
    for _, folders, files, at in os.fwalk(name, dir_fd=room, onerror=failed.append):
        for entry in (*folders, *files):
            with contextlib.suppress(FileNotFoundError):
                status = os.lstat(entry, dir_fd=at)
                names[(status.st_dev, status.st_ino)] = entry
                strangers.add(status.st_uid)
    return not failed


def mounts() -> dict[str, str]:
    """Where something is mounted that this process sees, and the type of its file system; of several the last one."""
    mounted = {}
    for line in procs.read_bytes("/proc/self/mountinfo").splitlines():
        before, _, after = line.partition(b" - ")
        place = re.sub(rb"\\(\d{3})", lambda code: bytes([int(code[1], 8)]), before.split(b" ")[4])
        mounted[os.fsdecode(place)] = after.split(b" ")[0].decode(errors="replace")
    return mounted


def _network(place: str, there: Mapping[str, str]) -> bool:
    """Whether a place lies on a file system that other machines may use as well."""
    mount = max((point for point in there if point == "/" or _within(place, point)), key=len, default="")
    return there.get(mount, "") in NETWORK


def never_held() -> tuple[str, ...]:
    """What no removed folder may hold: this user's home, by name and by record, and deploy's state."""
    homes = [os.path.expanduser("~")]
    with contextlib.suppress(KeyError):
        homes.append(pwd.getpwuid(os.getuid()).pw_dir)
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(homes[0], ".local", "state")
    return tuple(os.path.realpath(place) for place in (*homes, os.path.join(state, "deploy")))


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _named(pids: Collection[int]) -> str:
    words = []
    for pid in sorted(pids)[:3]:
        process = procs.process(pid)
        words.append(f"pid {pid} ({procs.name(process)})" if process else f"pid {pid}")
    return ", ".join(words)
