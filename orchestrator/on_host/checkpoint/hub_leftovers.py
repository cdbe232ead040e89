"""What of earlier downloads stands in the way of the next one, and what does it go on with?"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable

from orchestrator.on_host.checkpoint.hub_files import CACHE, RemoteFile
from orchestrator.on_host.processes import in_use
from orchestrator.on_host.removing import hub_locks, removal

_SILENT_SECONDS = 120.0


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
        _take(folder, f"{CACHE}/{file.name}.metadata", used)
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
    for room, _, names in os.walk(os.path.join(folder, CACHE)):
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
            if not hub_locks.held(folder, f"{CACHE}/{file.name}.lock"):
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
