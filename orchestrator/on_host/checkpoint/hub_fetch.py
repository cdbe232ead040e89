"""How does a repository's commit get into a folder, with what is already there left alone?"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from orchestrator.on_host.checkpoint import hub_files
from orchestrator.on_host.checkpoint.hub_errors import TRANSIENT, DownloadFailure, code_of, sentence_of
from orchestrator.on_host.checkpoint.hub_files import RemoteFile
from orchestrator.on_host.secrets import hub_token, secrets
from orchestrator.on_host.state import last_download, state

WORKERS = 4
ATTEMPTS = 6
"""Tries for one file; the wait doubles from one to the next, 31 seconds in all."""
FIRST_WAIT_SECONDS = 1.0
TICK_SECONDS = 0.5
_RATE_SECONDS = 15.0

Say = Callable[[dict[str, Any]], None]


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
    hub_files.sweep(folder, files)
    _check_disk(folder, todo)
    if kept := hub_files.clear(folder, todo):
        raise DownloadFailure(
            "foreign_files", f"{len(kept)} files have to be fetched again and stay: {kept[0]}"
        )
    manifest = _manifest(request, info.sha, folder, files)
    state.write_json(room / "manifest.json", manifest)
    arguments = {
        "repo_id": request["repository"],
        "revision": info.sha,
        "local_dir": folder,
        "endpoint": endpoint,
        "token": token or False,  # False: not even the host's own, where it must not be sent
    }
    _Run(hub, arguments, folder, files, todo).carry_out(say)
    hub_files.sweep(folder, files)
    state.write_json(room / "manifest.json", {**manifest, "complete": True})
    total = sum(file.size for file in files)
    kept = [file.name for file in compared.kept]
    counts = {"files": len(files), "fetched": len(todo), "bytes": total}
    return {"done": True, "commit": info.sha, **counts, "kept": kept}


def _foreign(folder: str, files: list[RemoteFile], repository: str) -> str:
    first = files[0]
    size = hub_files.size_of(os.path.join(folder, first.name))
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
        raise DownloadFailure(first.code, first.message + withheld)
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

    return _persist(ask, f"{name} at {revision} on {endpoint}", attempts=2)


def _persist(
    step: Callable[[], Any], subject: str, attempts: int, stop: threading.Event | None = None
) -> Any:
    """The step's result; tried again, with growing waits, as long as the failure may pass by itself."""
    halt = stop or threading.Event()
    for attempt in range(attempts):
        try:
            return step()
        except Exception as error:
            code = error.code if isinstance(error, DownloadFailure) else code_of(error)
            why = error.message if isinstance(error, DownloadFailure) else sentence_of(error)
            print(f"{state.now()} {subject}: {why}", file=sys.stderr, flush=True)
            if code not in TRANSIENT or attempt + 1 == attempts or halt.wait(FIRST_WAIT_SECONDS * 2**attempt):
                raise DownloadFailure(code, f"{subject}: {why}") from error
    raise AssertionError("attempts is at least 1")


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


def _check_disk(folder: str, todo: list[RemoteFile]) -> None:
    there = hub_files.partials(folder)
    needed = 0
    for file in todo:
        begun = [path for path in there.get(file.etag or "", []) if hub_files.continued(path)]
        needed += file.size - min(file.size, max(map(hub_files.size_of, begun), default=0))
    figures = os.statvfs(folder)
    free = figures.f_bavail * figures.f_frsize + hub_files.reclaimable(folder, todo)
    if needed > free:
        raise DownloadFailure(
            "disk_full", f"{needed} bytes are still to be fetched, {free} bytes are free where {folder} lies"
        )


class _Run:
    """One download under way: its workers and how far they are."""

    def __init__(
        self,
        hub: Any,
        arguments: dict[str, Any],
        folder: str,
        files: list[RemoteFile],
        todo: list[RemoteFile],
    ) -> None:
        self.hub, self.arguments, self.folder = hub, arguments, folder
        self.total, self.count = sum(file.size for file in files), len(files)
        self.done_bytes = self.total - sum(file.size for file in todo)
        self.done_files = len(files) - len(todo)
        self.waiting: queue.SimpleQueue[RemoteFile] = queue.SimpleQueue()
        for file in todo:
            self.waiting.put(file)
        self.left = len(todo)
        self.ends: queue.SimpleQueue[tuple[RemoteFile, DownloadFailure | None]] = queue.SimpleQueue()
        self.under_way: dict[str, RemoteFile] = {}
        self.stop = threading.Event()
        self.orphans = {
            p for paths in hub_files.partials(folder).values() for p in paths if not hub_files.continued(p)
        }
        self.history: list[tuple[float, int]] = []

    def carry_out(self, say: Say) -> None:
        """Fetch what is waiting, telling progress twice a second; the first failure ends it at once.

        Workers are daemons: a failure is told without waiting for the other transfers.
        """
        for _ in range(min(WORKERS, self.left)):
            threading.Thread(target=self._work, daemon=True).start()
        say(self._progress())
        last = time.monotonic()
        try:
            while self.left:
                self._take_end(last + TICK_SECONDS - time.monotonic())
                if time.monotonic() - last >= TICK_SECONDS or not self.left:
                    say(self._progress())
                    last = time.monotonic()
        finally:
            self.stop.set()

    def _take_end(self, seconds: float) -> None:
        try:
            file, failure = self.ends.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return
        if failure is not None:
            raise failure
        self.left -= 1
        self.done_files += 1
        self.done_bytes += file.size

    def _work(self) -> None:
        while not self.stop.is_set():
            try:
                file = self.waiting.get_nowait()
            except queue.Empty:
                return
            self.under_way[file.name] = file
            failure = None
            try:
                _persist(lambda: self._fetch(file), file.name, ATTEMPTS, self.stop)  # noqa: B023
            except DownloadFailure as error:
                failure = error
            self.under_way.pop(file.name, None)
            self.ends.put((file, failure))

    def _fetch(self, file: RemoteFile) -> None:
        self.hub.hf_hub_download(filename=file.name, **self.arguments)
        size = hub_files.size_of(os.path.join(self.folder, file.name))
        whole = hub_files.sound(self.folder, file.name) or hub_files.exactly(self.folder, file)
        if size != file.size or not whole:
            hub_files.clear(self.folder, [file])
            raise DownloadFailure("download_failed", f"arrived broken, {size} of {file.size} bytes")

    def _progress(self) -> dict[str, Any]:
        running = list(self.under_way.values())
        begun = hub_files.partials(self.folder) if running else {}
        at = self.done_bytes
        for file in running:
            sizes = [hub_files.size_of(p) for p in begun.get(file.etag or "", []) if p not in self.orphans]
            at += min(file.size, max(sizes, default=0))
        rate = self._rate(at)
        return {
            "bytes": at,
            "total": self.total,
            "files_done": self.done_files,
            "files": self.count,
            "rate": rate,
            "eta_seconds": round((self.total - at) / rate) if rate else None,
            "file": min(self.under_way, default=None),
        }

    def _rate(self, at: int) -> int:
        """Bytes a second over the last moments; never negative where a transfer began anew."""
        now = time.monotonic()
        self.history = [(t, b) for t, b in self.history if now - t <= _RATE_SECONDS] + [(now, at)]
        (since, before) = self.history[0]
        return max(0, round((at - before) / (now - since))) if now > since else 0
