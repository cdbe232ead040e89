"""Which files of a repository does a checkpoint's folder still lack?

A file that is there in its right size is not fetched again and, being large, not hashed either; the
small ones outside LFS are compared by their git id, so that a changed config is noticed.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from orchestrator.on_host.checkpoint.shards import TEXT_LIMIT, Broken, git_blob, inside, opened, shard_tensors
from orchestrator.on_host.files import regular_file

CACHE = os.path.join(".cache", "huggingface", "download")
"""Where huggingface_hub keeps what it notes of a folder's files, and files that are under way."""
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
    files = []
    for sibling in siblings:
        name = sibling.rfilename
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            continue
        _require_inside(name)
        lfs = sibling.lfs
        sha256 = (lfs["sha256"] if isinstance(lfs, dict) else lfs.sha256) if lfs else None
        files.append(RemoteFile(name, sibling.size or 0, sha256, sibling.blob_id))
    return files


def listed(files: dict[str, dict[str, Any]]) -> list[RemoteFile]:
    """Those of another host's manifest; ValueError as `wanted`."""
    for name, entry in files.items():
        _require_inside(name)
        for hexes, digest in ((64, entry["sha256"]), (40, entry["blob"])):
            if digest is not None and not re.fullmatch(f"[0-9a-f]{{{hexes}}}", digest):
                raise ValueError(
                    f"{name!r} has {digest!r:.80} for a hash"
                )  # it becomes a part of a file's name
    return [
        RemoteFile(name, entry["size"] or 0, entry["sha256"], entry["blob"]) for name, entry in files.items()
    ]


def _require_inside(name: str) -> None:
    if not inside(name):
        raise ValueError(f"the repository names a file {name!r} that would not lie in the folder")


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
        if os.path.exists(metadata(folder, file.name)):
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


def metadata(folder: str, name: str) -> str:
    """Where huggingface_hub notes commit, ETag and time of a file that it fetched."""
    return os.path.join(folder, CACHE, f"{name}.metadata")


def _fetched_as(folder: str, name: str) -> str | None:
    """The sha256 that huggingface_hub noted when it fetched the file, unless the file changed since."""
    etag = _noted(folder, name)
    return etag if etag is not None and len(etag) == 64 else None


def _noted(folder: str, name: str) -> str | None:
    """The ETag that huggingface_hub noted when it fetched the file, unless the file changed since."""
    try:
        note = regular_file.read(metadata(folder, name), _NOTE_BYTES).decode("utf-8")
        _, etag, stamp = (line.strip() for line in note.split("\n")[:3])
        changed = os.path.getmtime(os.path.join(folder, name)) - 1 > float(stamp)
    except (regular_file.Unfit, OSError, ValueError):
        return None
    return None if changed else etag


def untouched(folder: str, name: str) -> bool:
    """Whether the Hub client fetched a file, and nobody wrote into it since."""
    return _noted(folder, name) is not None
