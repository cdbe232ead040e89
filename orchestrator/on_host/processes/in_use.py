"""Which living processes have a file mapped or open, or work in a folder?

Files are told by device and inode: a container's processes show the same file under a path of their own, and another
file under the same path. A process that this user may not look into shows nothing.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Mapping

from orchestrator.on_host.processes import procs

File = tuple[int, int]
"""Device and inode."""
_FEW = 50
"""So many inodes are looked for in the text of a process's maps sooner than it is taken apart."""


def everybody() -> list[int]:
    """The pids of all living processes that are programs."""
    return [pid for pid, process in procs.processes().items() if process.alive and not process.kernel]


def mapped_files(text: bytes) -> set[File]:
    """The files in the text of /proc/PID/maps."""
    files = set()
    for line in text.splitlines():
        fields = line.split(None, 5)
        if len(fields) > 4 and fields[4] != b"0":
            major, _, minor = fields[3].partition(b":")
            with contextlib.suppress(ValueError, OverflowError):
                files.add((os.makedev(int(major, 16), int(minor, 16)), int(fields[4])))
    return files


def _of_devices(text: bytes, devices: Collection[bytes]) -> bytes:
    """The lines that name one of these devices: of a hundred libraries of a process hardly one lies in /dev/shm."""
    if not any(device in text for device in devices):
        return b""
    return b"\n".join(line for line in text.splitlines() if any(device in line for device in devices))


def opened_files(pid: int, names: Collection[str]) -> set[File]:
    """The files whose descriptors lead to one of these names, and the working folder.

    Others are not asked for: the status of a file on a dead NFS server would never come.
    """
    files: set[File] = set()
    try:
        numbers = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return files
    for path in (f"/proc/{pid}/cwd", *(f"/proc/{pid}/fd/{number}" for number in numbers)):
        if os.path.basename(procs.read_link(path).replace(" (deleted)", "")) in names:
            try:
                status = os.stat(path)
            except OSError:
                continue
            files.add((status.st_dev, status.st_ino))
    return files


def users(
    names: Mapping[File, str], pids: Iterable[int], *, below: str | None = None
) -> dict[File, list[int]]:
    """For each of these files (and their names) that one of the processes has mapped or open: which ones.

    `below`: the path of a folder that holds them all. What is mapped from there by its path counts too, for the first
    file: some file systems (btrfs, overlayfs) show another device in maps than a file's status does.
    """
    using: dict[File, list[int]] = {}
    if not names:
        return using
    wanted = frozenset(names.values())
    devices = {b" %02x:%02x " % (os.major(device), os.minor(device)) for device, _ in names}
    inodes = [b" %d " % inode for _, inode in names] if len(names) <= _FEW else None
    prefix = os.fsencode(below) + b"/" if below else None
    for pid in sorted(pids):
        text = procs.read_bytes(f"/proc/{pid}/maps")
        maps = inodes is None or any(inode in text for inode in inodes)
        mapped = mapped_files(_of_devices(text, devices)) if maps else set()
        for file in (mapped | opened_files(pid, wanted)) & names.keys():
            using.setdefault(file, []).append(pid)
        if prefix and b" " + prefix in text:
            using.setdefault(next(iter(names)), []).append(pid)
    return using
