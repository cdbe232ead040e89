"""How does a repository's commit get into a folder, with what is already there left alone?"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from orchestrator.on_host.checkpoint import hub_files, hub_leftovers
from orchestrator.on_host.checkpoint.hub_errors import DownloadFailure
from orchestrator.on_host.checkpoint.hub_files import RemoteFile
from orchestrator.on_host.checkpoint.hub_repository import HubRepository
from orchestrator.on_host.checkpoint.hub_transfer import Say, Transfer
from orchestrator.on_host.checkpoint.peers import GivingPeers
from orchestrator.on_host.secrets import hub_token
from orchestrator.on_host.state import last_download, state

TELLING_SECONDS = 5.0
"""A transfer of less says more of the Hub's answers than of the line."""


def fetch(request: dict[str, Any], folder: str, room: Path, say: Say) -> dict[str, Any]:
    """Bring the folder to the revision's commit; gives the final line of progress or raises Failure.

    What the commit holds says the Hub, or `listing` ({commit, files}), where other hosts (`peers`) have it.
    Writes `room`/manifest.json once the commit is known, and again, as complete, at the end.
    """
    listing = request.get("listing")
    asked = {**request, "revision": listing["commit"]} if listing else request
    hub = HubRepository(asked, folder)
    try:
        files = (
            hub_files.listed(listing["files"])
            if listing
            else hub_files.wanted(hub.info.siblings, request.get("ignore") or ())
        )
    except ValueError as error:
        raise DownloadFailure("download_failed", str(error)) from error
    commit = listing["commit"] if listing else hub.info.sha
    before = last_download.read(room, folder) or {"files": {}}
    compared = hub_files.compare(folder, files, request.get("keep") or (), before["files"])
    if compared.foreign:
        raise DownloadFailure("foreign_files", _foreign(folder, compared.foreign, request["repository"]))
    todo = _from_its_turn(compared.fetch, request)
    hub_leftovers.sweep(folder, files)
    needed = _to_be_fetched(folder, todo)
    _check_disk(folder, todo, needed)
    if kept := hub_leftovers.clear(folder, todo):
        raise DownloadFailure(
            "foreign_files", f"{len(kept)} files have to be fetched again and stay: {kept[0]}"
        )
    manifest = {**_manifest(request, commit, folder, files), "rate": before.get("rate")}
    state.write_json(room / "manifest.json", manifest)
    peers = GivingPeers(request.get("peers") or [], folder, commit)
    began = time.monotonic()
    Transfer(hub, peers, folder, files, todo).carry_out(say)
    seconds = time.monotonic() - began
    tells = needed and seconds > TELLING_SECONDS and not peers.given
    rate = round(needed / seconds) if tells else manifest["rate"]
    hub_leftovers.sweep(folder, files)
    state.write_json(room / "manifest.json", {**manifest, "complete": True, "rate": rate})
    total = sum(file.size for file in files)
    kept = [file.name for file in compared.kept]
    counts = {"files": len(files), "fetched": len(todo), "bytes": total}
    return {
        "done": True,
        "commit": commit,
        **counts,
        "kept": kept,
        "given": peers.given,
        "wrong": peers.wrong,
    }


def _from_its_turn(files: list[RemoteFile], request: dict[str, Any]) -> list[RemoteFile]:
    """Hosts that get the same files begin with different ones, so that they have something to give each other."""
    turn, of = request.get("turn") or (0, 1)
    first = turn * len(files) // of
    return files[first:] + files[:first]


def _foreign(folder: str, files: list[RemoteFile], repository: str) -> str:
    first = files[0]
    size = hub_leftovers.size_of(os.path.join(folder, first.name))
    return (
        f"{len(files)} sound files in {folder} are not those of {repository} and stay: {first.name} has {size} bytes, "
        f"the repository's {first.size}"
    )


def _manifest(request: dict[str, Any], commit: str, folder: str, files: list[RemoteFile]) -> dict[str, Any]:
    return {
        "repository": request["repository"],
        "revision": request["revision"],
        "ignore": list(request.get("ignore") or ()),
        "commit": commit,
        "endpoint": hub_token.without_password(request.get("endpoint") or hub_token.place(os.environ)),
        "folder": folder,
        "machine": state.machine_id(),
        "at": state.now(),
        "complete": False,
        "files": {f.name: {"size": f.size, "sha256": f.sha256, "blob": f.blob} for f in files},
    }


def _to_be_fetched(folder: str, todo: list[RemoteFile]) -> int:
    """Bytes, without those of transfers that go on where they were cut off."""
    there = hub_leftovers.partials(folder)
    needed = 0
    for file in todo:
        begun = [path for path in there.get(file.etag or "", []) if hub_leftovers.continued(path)]
        needed += file.size - min(file.size, max(map(hub_leftovers.size_of, begun), default=0))
    return needed


def _check_disk(folder: str, todo: list[RemoteFile], needed: int) -> None:
    figures = os.statvfs(folder)
    free = figures.f_bavail * figures.f_frsize + hub_leftovers.reclaimable(folder, todo)
    if needed > free:
        raise DownloadFailure(
            "disk_full", f"{needed} bytes are still to be fetched, {free} bytes are free where {folder} lies"
        )
