"""How does a repository's commit get into a folder, with what is already there left alone?"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from orchestrator.on_host.checkpoint import hub_attempts, hub_files, hub_leftovers
from orchestrator.on_host.checkpoint.hub_errors import DownloadFailure
from orchestrator.on_host.checkpoint.hub_files import RemoteFile
from orchestrator.on_host.checkpoint.hub_transfer import Say, Transfer
from orchestrator.on_host.secrets import hub_token, secrets
from orchestrator.on_host.state import last_download, state

TELLING_SECONDS = 5.0
"""A transfer of less says more of the Hub's answers than of the line."""


def fetch(request: dict[str, Any], folder: str, room: Path, say: Say) -> dict[str, Any]:
    """Bring the folder to the revision's commit; gives the final line of progress or raises Failure.

    Writes `room`/manifest.json once the commit is known, and again, as complete, at the end.
    """
    hub = _library()
    endpoint = (request.get("endpoint") or hub.constants.ENDPOINT).rstrip("/")
    info, token = _resolve(hub, endpoint, request)
    try:
        files = hub_files.wanted(info.siblings, request.get("ignore") or ())
    except ValueError as error:
        raise DownloadFailure("download_failed", str(error)) from error
    before = last_download.read(room, folder) or {"files": {}}
    compared = hub_files.compare(folder, files, request.get("keep") or (), before["files"])
    if compared.foreign:
        raise DownloadFailure("foreign_files", _foreign(folder, compared.foreign, request["repository"]))
    todo = compared.fetch
    hub_leftovers.sweep(folder, files)
    needed = _to_be_fetched(folder, todo)
    _check_disk(folder, todo, needed)
    if kept := hub_leftovers.clear(folder, todo):
        raise DownloadFailure(
            "foreign_files", f"{len(kept)} files have to be fetched again and stay: {kept[0]}"
        )
    manifest = {**_manifest(request, info.sha, folder, files), "rate": before.get("rate")}
    state.write_json(room / "manifest.json", manifest)
    arguments = {
        "repo_id": request["repository"],
        "revision": info.sha,
        "local_dir": folder,
        "endpoint": endpoint,
        "token": token or False,  # False: not even the host's own, where it must not be sent
    }
    began = time.monotonic()
    Transfer(hub, arguments, folder, files, todo).carry_out(say)
    seconds = time.monotonic() - began
    rate = round(needed / seconds) if needed and seconds > TELLING_SECONDS else manifest["rate"]
    hub_leftovers.sweep(folder, files)
    state.write_json(room / "manifest.json", {**manifest, "complete": True, "rate": rate})
    total = sum(file.size for file in files)
    kept = [file.name for file in compared.kept]
    counts = {"files": len(files), "fetched": len(todo), "bytes": total}
    return {"done": True, "commit": info.sha, **counts, "kept": kept}


def _foreign(folder: str, files: list[RemoteFile], repository: str) -> str:
    first = files[0]
    size = hub_leftovers.size_of(os.path.join(folder, first.name))
    return (
        f"{len(files)} sound files in {folder} are not those of {repository} and stay: {first.name} has {size} bytes, "
        f"the repository's {first.size}"
    )


def tokens(own: str | None, callers: str | None, endpoint: str, consent: bool) -> list[str | None]:
    """Which tokens to try, in order: the host's own, the caller's, none.

    Without consent none is sent over plain http or to anybody but huggingface.co.
    """
    if not consent and not hub_token.trusted(endpoint):
        return [None]
    return [token for token in dict.fromkeys((own, callers)) if token] + [None]


def _library() -> Any:
    os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
    try:
        import huggingface_hub
        import huggingface_hub.constants
    except ImportError as error:
        raise DownloadFailure(
            "hub_missing", f"huggingface_hub cannot be imported by {sys.executable}: {error}"
        ) from error
    return huggingface_hub


def _resolve(hub: Any, endpoint: str, request: dict[str, Any]) -> tuple[Any, str | None]:
    """The repository's listing at the revision, and the token that opens it."""
    consent = bool(request.get("token_consent"))
    places = [hub_token.place({**os.environ, "HF_ENDPOINT": endpoint}), hub_token.place(os.environ)]
    # asking for a token may itself send one: an OAuth or OIDC token is renewed at the environment's HF_ENDPOINT
    own = _own_token(hub) if consent or all(map(hub_token.trusted, places)) else None
    secrets.remember(own or "")
    callers = request.get("token")
    choices = tokens(own, callers, places[0], consent)
    first: DownloadFailure | None = None
    for token in choices:
        try:
            return _listing(hub, endpoint, request, token), token
        except DownloadFailure as failure:
            if failure.code not in ("hub_gated", "hub_not_found", "hub_auth"):
                raise
            first = first or failure
    assert first is not None
    if choices == [None] and (own or callers or _has_token(hub)):
        withheld = f"; a token is at hand but is not sent to {endpoint} without consent"
        raise DownloadFailure("hub_token_withheld", first.message + withheld)
    raise first


def _own_token(hub: Any) -> str | None:
    try:
        token: str | None = hub.get_token()
    except Exception:  # a broken token store is no reason not to fetch a public model
        return None
    return token


def _has_token(hub: Any) -> bool:
    withheld, _ = hub_token.withheld({**os.environ, "HF_ENDPOINT": "http://"}, consent=False)
    return bool(withheld) or os.path.exists(hub.constants.HF_TOKEN_PATH)


def _listing(hub: Any, endpoint: str, request: dict[str, Any], token: str | None) -> Any:
    api = hub.HfApi(endpoint=endpoint, token=token or False)
    name, revision = request["repository"], request["revision"]

    def ask() -> Any:
        info = api.model_info(name, revision=revision, files_metadata=True)
        if getattr(info, "gated", False):
            api.auth_check(name)
        return info

    return hub_attempts.persist(ask, f"{name} at {revision} on {endpoint}", attempts=2)


def _manifest(request: dict[str, Any], commit: str, folder: str, files: list[RemoteFile]) -> dict[str, Any]:
    return {
        "repository": request["repository"],
        "revision": request["revision"],
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
