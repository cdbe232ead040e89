"""Which files of a repository does a checkpoint's folder still lack?

A file that is there in its right size is not fetched again and, being large, not hashed either; the
small ones outside LFS are compared by their git id, so that a changed config is noticed.
"""

from __future__ import annotations

import contextlib
import fnmatch
import json
import os
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from orchestrator.on_host.checkpoint.shards import TEXT_LIMIT, Broken, git_blob, inside, opened, shard_tensors
from orchestrator.on_host.files import regular_file
from orchestrator.on_host.processes import in_use
from orchestrator.on_host.removing import hub_locks, removal

_CACHE = os.path.join(".cache", "huggingface", "download")
_SILENT_SECONDS = 120.0
_NOTE_BYTES = 64 << 10


class RemoteFile(NamedTuple):
    """A file of the repository: `sha256` where it is in LFS, `blob` is git's id."""

    name: str
    size: int
    sha256: str | None
    blob: str | None

    @property
    def etag(self) -> str | None:
        return self.sha256 or self.blob


def wanted(siblings: Iterable[Any], ignore: Iterable[str]) -> list[RemoteFile]:
    """The files of a `model_info` listing that no pattern ignores; ValueError for a name that leads out, or holds control characters."""
    patterns = [pattern + "*" if pattern.endswith("/") else pattern for pattern in ignore]
    found = []
    for sibling in siblings:
        name = sibling.rfilename
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            continue
        if not inside(name):
            raise ValueError(f"the repository names a file {name!r} that would not lie in the folder")
        lfs = sibling.lfs
        sha256 = (lfs["sha256"] if isinstance(lfs, dict) else lfs.sha256) if lfs else None
        found.append(RemoteFile(name, sibling.size or 0, sha256, sibling.blob_id))
    return found


class Compared(NamedTuple):
    """The files of a repository by what has to be done about each in a folder."""

    fetch: list[RemoteFile]
    """Absent, broken, or fetched from an earlier commit and unchanged since."""
    kept: list[RemoteFile]
    """Small files that somebody edited here: they stay."""
    foreign: list[RemoteFile]
    """Large files that are sound, and neither the repository's nor fetched from it: nobody may replace them."""


def compare(
    folder: str, files: Iterable[RemoteFile], keep: Iterable[str], earlier: dict[str, Any]
) -> Compared:
    """What to do about each file; `keep` names those whose local bytes are ours, `earlier` is the last manifest's files."""
    ours = set(keep)
    compared = Compared([], [], [])
    for file in files:
        path = os.path.join(folder, file.name)
        if not os.path.isfile(path) or not (sound(folder, file.name) or exactly(folder, file)):
            compared.fetch.append(file)
        elif file.name not in ours and not _is_that(folder, file, earlier.get(file.name) or {}):
            if _from_the_hub(folder, file, earlier.get(file.name) or {}):
                compared.fetch.append(file)
            else:
                (compared.foreign if file.sha256 else compared.kept).append(file)
    return compared


def exactly(folder: str, file: RemoteFile) -> bool:
    """Whether the bytes of a small file are the repository's own, whatever an engine makes of them."""
    known = file.sha256 is None and file.blob is not None
    return known and git_blob(os.path.join(folder, file.name)) == file.blob


def _is_that(folder: str, file: RemoteFile, before: dict[str, Any]) -> bool:
    """Whether a sound local file is the repository's."""
    path = os.path.join(folder, file.name)
    if os.path.getsize(path) != file.size:
        return False
    if file.sha256 is None:
        return file.blob is None or git_blob(path) == file.blob
    fetched_as = _fetched_as(folder, file.name) or before.get("sha256")
    return fetched_as is None or fetched_as == file.sha256  # else of the same size, but of another commit


def _from_the_hub(folder: str, file: RemoteFile, before: dict[str, Any]) -> bool:
    """Whether a local file is as an earlier commit had it: nobody's own work is lost with it."""
    path = os.path.join(folder, file.name)
    if file.sha256:
        if os.path.exists(_metadata(folder, file.name)):
            return _fetched_as(folder, file.name) is not None
        return before.get("size") == os.path.getsize(path)
    blob = git_blob(path)
    return blob is not None and blob in (before.get("blob"), _noted(folder, file.name))


def sound(folder: str, name: str) -> bool:
    """Whether a file can be what its name says: a shard's structure fills it, JSON parses, and no pointer or
    error page stands in its place."""
    path = os.path.join(folder, name)
    try:
        if name.endswith(".safetensors"):
            shard_tensors(folder, name)
            return True
        if name.endswith(".json"):
            raw = regular_file.read(path, TEXT_LIMIT)
            json.loads(raw.decode("utf-8"))  # as an engine reads it: no mark, no UTF-16
        with opened(folder, name) as file:
            head = file.read(1024)
    except (Broken, regular_file.Unfit, OSError, ValueError, RecursionError):
        return False
    start = head.lstrip().lower()
    return not start.startswith((b"version https://git-lfs", b"<!doctype html", b"<html"))


def _metadata(folder: str, name: str) -> str:
    return os.path.join(folder, _CACHE, f"{name}.metadata")


def _fetched_as(folder: str, name: str) -> str | None:
    """The sha256 that huggingface_hub noted when it fetched the file, unless the file changed since."""
    etag = _noted(folder, name)
    return etag if etag is not None and len(etag) == 64 else None


def _noted(folder: str, name: str) -> str | None:
    """The ETag that huggingface_hub noted when it fetched the file, unless the file changed since."""
    try:
        note = regular_file.read(_metadata(folder, name), _NOTE_BYTES).decode("utf-8")
        _, etag, stamp = (line.strip() for line in note.split("\n")[:3])
        changed = os.path.getmtime(os.path.join(folder, name)) - 1 > float(stamp)
    except (regular_file.Unfit, OSError, ValueError):
        return None
    return None if changed else etag


def untouched(folder: str, name: str) -> bool:
    """Whether the Hub client fetched a file, and nobody wrote into it since."""
    return _noted(folder, name) is not None


def reclaimable(folder: str, files: Iterable[RemoteFile]) -> int:
    """Bytes that `clear` frees."""
    total = 0
    for file in files:
        path = os.path.join(folder, file.name)
        if file.sha256 and os.path.isfile(path) and not os.path.islink(path):
            total += os.path.getsize(path)
    return total


def clear(folder: str, files: Iterable[RemoteFile]) -> list[str]:
    """Remove what stands in the way of fetching: huggingface_hub takes a present file for a good one.

    A small file stays until its successor is there; huggingface_hub compares it itself. Gives what has to stay, and why.
    """
    files = list(files)
    names = {file: file.name for file in files if file.sha256}
    used = _used(folder, names.values())
    kept = []
    for file in files:
        _take(folder, f"{_CACHE}/{file.name}.metadata", used)
        if file.sha256 and (reason := _take(folder, file.name, used)):
            kept.append(f"{os.path.join(folder, file.name)}: {reason}")
    return kept


def _used(folder: str, names: Iterable[str]) -> dict[in_use.File, list[int]]:
    """Who has which of these files mapped or open."""
    files = {}
    for name in names:
        with contextlib.suppress(OSError):
            status = os.lstat(os.path.join(folder, name))
            files[(status.st_dev, status.st_ino)] = os.path.basename(name)
    return in_use.users(files, in_use.everybody() if files else ())


def _take(folder: str, name: str, used: dict[in_use.File, list[int]]) -> str | None:
    """Remove a file of the checkpoint, its owner's or ours: that this user may write there was judged before."""
    owners = {os.getuid(), os.stat(folder).st_uid}
    try:
        return removal.take(folder, name, owners=owners, used=used)
    except FileNotFoundError:
        return None


def partials(folder: str) -> dict[str, list[str]]:
    """Half-fetched files by the ETag they belong to.

    `HASH.ETAG.incomplete` is continued by a later run (huggingface_hub 0.2x to 1.x);
    `HASH.ETAG.RANDOM.incomplete` belongs to one process alone (newer releases).
    """
    paths: dict[str, list[str]] = {}
    for room, _, names in os.walk(os.path.join(folder, _CACHE)):
        for name in names:
            parts = name.split(".")
            if parts[-1] == "incomplete" and len(parts) in (3, 4):
                paths.setdefault(parts[1], []).append(os.path.join(room, name))
    return paths


def continued(path: str) -> bool:
    """Whether a partial file is one that a later run continues."""
    return os.path.basename(path).count(".") == 2


def sweep(folder: str, files: Iterable[RemoteFile]) -> None:
    """Remove partial files that a killed run left and that nobody writes to any more."""
    begun = partials(folder)
    silent = [
        (file, os.path.relpath(path, folder))
        for file in files
        for path in begun.get(file.etag or "", ())
        if not continued(path) and time.time() - _mtime(path) > _SILENT_SECONDS
    ]
    used = _used(folder, [name for _, name in silent])
    for file, name in silent:
        with contextlib.suppress(OSError):
            if not hub_locks.held(folder, f"{_CACHE}/{file.name}.lock"):
                _take(folder, name, used)


def size_of(path: str) -> int:
    """Bytes in a file that may vanish at any moment."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _mtime(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return time.time()
