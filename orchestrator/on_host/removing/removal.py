"""May this be taken away, and how does it go without anything else going with it?

Whatever deploy removes on a host that is not its own state goes through `take`. What is there is read without following
a link, `reason_to_keep` judges it, and what goes is what was judged: it is named within an open folder, and looked at
again.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from orchestrator.on_host.files import trusted
from orchestrator.on_host.processes import in_use, procs

NETWORK = (
    "nfs", "nfs4", "cifs", "smb3", "lustre", "gpfs", "beegfs", "ceph", "fuse.ceph", "glusterfs", "fuse.glusterfs", "wekafs", "afs",
    "pvfs2", "fuse.juicefs", "fuse.sshfs",
)  # fmt: skip
"""On some of them (Lustre, GPFS) flock succeeds for everybody, and none shows who has a file open elsewhere."""
ASIDE = ".removed-by-deploy"
_CHANGED = "it changed while it was looked at"
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


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


def take(
    base: str,
    below: str,
    *,
    owners: Collection[int] | None = None,
    others: Collection[str] = (),
    used: Mapping[in_use.File, Collection[int]] | None = None,
    expect: in_use.File | None = None,
    spare: Collection[str] = (),
    local: bool = False,
) -> str | None:
    """Remove what lies at `base`/`below`: why it stays, or None once it is gone.

    `base` is where a person, a variable or a default leads, be it through links; below it none is followed, and a link
    at the end goes itself. `owners`: this user alone where nobody consented to more. `others`: names known to lead to the
    same file. `used`: who uses which file, where that was asked already. `expect`: the one file that is meant. `spare`:
    paths that no removed folder may hold, besides the home folder and deploy's state. `local`: only on a file system that
    no other machine uses. Raises FileNotFoundError where nothing is there.
    """
    mine = (os.getuid(),) if owners is None else owners
    try:
        with _room(base, below) as (room, name):
            status = os.lstat(name, dir_fd=room)
            if expect is not None and (status.st_dev, status.st_ino) != expect:
                return _CHANGED
            place = os.path.join(os.path.realpath(base), below)
            never = [os.path.realpath(os.path.expanduser(path)) for path in spare]
            candidate = _look(room, place, status, others, used, (*never, *_never()), local)
            reason = reason_to_keep(candidate, mine)
            if reason is None:
                reason = _remove(room, name, status)
            return reason
    except ThroughLink as link:
        return str(link)
    except FileNotFoundError:
        raise
    except OSError as error:
        return error.strerror or str(error)


def sweep(base: str, below: str) -> None:
    """Remove what an earlier `take` of this folder was ended in the middle of."""
    folder, name = os.path.split(below)
    with contextlib.suppress(OSError):
        for left in os.listdir(os.path.join(base, folder)):
            if re.fullmatch(rf"{re.escape(name + ASIDE)}-\d+", left):
                take(base, os.path.join(folder, left))


class ThroughLink(OSError):
    """A folder on the way is a link, or the way leads out."""


@contextlib.contextmanager
def _room(base: str, below: str) -> Iterator[tuple[int, str]]:
    """The folder in which the last name lies, open, and that name."""
    *parts, name = below.split("/")
    if any(part in ("", ".", "..") for part in (*parts, name)):
        raise ThroughLink(f"it leads out of {base}")
    descriptor = os.open(base, _FOLDER)
    try:
        for at, part in enumerate(parts):
            if stat.S_ISLNK(os.lstat(part, dir_fd=descriptor).st_mode):
                raise ThroughLink(f"it is reached through the link {os.path.join(base, *parts[: at + 1])}")
            deeper = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = deeper
        yield descriptor, name
    finally:
        os.close(descriptor)


def opened(base: str, below: str) -> int:
    """A descriptor to read a regular file with, reached without a link below `base`. Raises OSError."""
    with _room(base, below) as (room, name):
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(name, flags, dir_fd=room)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(f"{below} is no regular file")


def files(base: str, below: str) -> dict[in_use.File, str]:
    """The regular files in the folder `base`/`below`, however deep, by their paths below the base; links lead nowhere."""
    paths = {}
    with contextlib.suppress(OSError), _room(base, below) as (room, name):
        if not stat.S_ISDIR(os.lstat(name, dir_fd=room).st_mode):
            return {}
        start = os.path.dirname(below)
        for folder, _, names, at in os.fwalk(name, dir_fd=room):
            for file in names:
                with contextlib.suppress(OSError):
                    status = os.lstat(file, dir_fd=at)
                    if stat.S_ISREG(status.st_mode):
                        paths[(status.st_dev, status.st_ino)] = os.path.join(start, folder, file)
    return paths


def _look(
    room: int,
    place: str,
    status: os.stat_result,
    others: Collection[str],
    used: Mapping[in_use.File, Collection[int]] | None,
    never: Collection[str],
    local: bool,
) -> Candidate:
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


def _never() -> tuple[str, ...]:
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


def _remove(room: int, name: str, judged: os.stat_result) -> str | None:
    """Remove exactly what was judged."""
    if not os.path.samestat(os.lstat(name, dir_fd=room), judged):
        return _CHANGED
    if not stat.S_ISDIR(judged.st_mode):
        os.unlink(name, dir_fd=room)
        return None
    aside = name if re.search(rf"{re.escape(ASIDE)}-\d+$", name) else f"{name}{ASIDE}-{os.getpid()}"
    os.rename(name, aside, src_dir_fd=room, dst_dir_fd=room)
    if not _emptied(room, aside, judged):
        os.rename(aside, name, src_dir_fd=room, dst_dir_fd=room)
        return _CHANGED
    with contextlib.suppress(OSError):
        os.rmdir(aside, dir_fd=room)
    return None


def _emptied(room: int, name: str, judged: os.stat_result) -> bool:
    """Empty a folder that nobody finds any more, if it is the one that was judged; what cannot go now is swept another time.

    It is held open: where others may write in the room they could put another one in its place.
    """
    try:
        folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=room)
    except OSError:
        return False
    try:
        if not os.path.samestat(os.fstat(folder), judged):
            return False
        for _, folders, files, at in os.fwalk(".", topdown=False, dir_fd=folder):
            for file in files:
                with contextlib.suppress(OSError):
                    os.unlink(file, dir_fd=at)
            for inner in folders:
                with contextlib.suppress(OSError):
                    if stat.S_ISLNK(os.lstat(inner, dir_fd=at).st_mode):
                        os.unlink(inner, dir_fd=at)
                    else:
                        os.rmdir(inner, dir_fd=at)
        return True
    finally:
        os.close(folder)
