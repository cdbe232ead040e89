"""Which files of a checkpoint are not what upstream has, so that they have to be fetched again?"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

from orchestrator.on_host.checkpoint import hub_cache, hub_files
from orchestrator.on_host.checkpoint.shards import inside
from orchestrator.on_host.files import regular_file
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.removing import removal
from orchestrator.on_host.state.state import append, at_work, state_folder

_READ = 8 << 20


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Hash files and take away those whose content is not upstream's.

    request: instance, folder, files {name: {"size": bytes or null, "sha256": hex or null}}, foreign_folder (the consent
    to write where another user owns the folder). Answers {"discarded": [name], "sound": [name], "kept": [{path, reason}]}; a
    file whose hash is not known is in none, nor is a missing one. Of a link the link goes; a damaged blob behind it only in
    a Hub cache, when it is ours and nothing else leads to it. Raises Refusal("no_checkpoint" or "foreign_folder").
    """
    state = state_folder(request["instance"])
    folder = Path(os.path.expanduser(request["folder"]))
    if not folder.is_dir():
        raise Refusal("no_checkpoint", f"{folder} is not a folder on this host")
    owner = folder.stat().st_uid
    if owner != os.getuid() and not request.get("foreign_folder"):
        raise Refusal(
            "foreign_folder",
            f"{folder} belongs to uid {owner}, not to us: nothing is taken away without consent",
        )
    with at_work(state):
        answer = _discard(folder, request["files"], {os.getuid(), owner})
        record = {"files": answer["discarded"], "links": answer.pop("links"), "kept": answer["kept"]}
        append(state, {"action": "discard", "folder": str(folder), **record})
    return answer


def _discard(folder: Path, files: dict[str, Any], owners: Collection[int]) -> dict[str, Any]:
    discarded: list[str] = []
    sound: list[str] = []
    kept: list[dict[str, str]] = []
    links: dict[str, str] = {}
    for name, known in sorted(files.items()):
        path = folder / name
        if not known.get("sha256") or not inside(name) or not regular_file.is_one(path):
            continue
        if path.stat().st_size == known.get("size") and _sha256(path) == known["sha256"]:
            sound.append(name)
            continue
        target = os.readlink(path) if path.is_symlink() else None
        reason = None if target else _may_be_work(str(folder), name)
        blob = _blob(path, target, known["sha256"]) if target else None
        try:
            reason = reason or removal.take(str(folder), name, owners=owners)
        except FileNotFoundError:
            continue
        if reason:
            kept.append({"path": str(path), "reason": reason})
            continue
        discarded.append(name)
        if target:
            links[name] = target
            kept += _take_blob(path, target, blob)
    return {"discarded": discarded, "sound": sound, "kept": kept, "links": links}


def _may_be_work(folder: str, name: str) -> str | None:
    """A file that differs from upstream's may be somebody's own: whole, and not as the Hub client left it."""
    if hub_files.untouched(folder, name) or not hub_files.sound(folder, name):
        return None
    return "it is whole and not as it was fetched: it may be somebody's work"


def _blob(path: Path, target: str, sha256: str) -> hub_cache.Blob | None:
    """The blob of a Hub cache that this link leads to, in fact and not by its text alone."""
    link = os.path.join(os.path.realpath(path.parent), path.name)
    blob = hub_cache.behind(link, target)
    return blob if blob and blob.may_be(sha256) and os.path.realpath(path) == blob.path else None


def _take_blob(path: Path, target: str, blob: hub_cache.Blob | None) -> list[dict[str, str]]:
    """Remove the damaged blob behind a link that is gone: nothing, or why it stays."""
    if blob is None:
        there = os.path.join(path.parent, target)
        return [
            {"path": there, "reason": "it lies behind a link, and is not this file's blob in a Hub cache"}
        ]
    try:
        reason = removal.take(blob.repository, blob.below, others=hub_cache.leading_to(blob))
    except FileNotFoundError:
        return []
    return [{"path": blob.path, "reason": reason}] if reason else []


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(_READ):
            digest.update(chunk)
    return digest.hexdigest()
