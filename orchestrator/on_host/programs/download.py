"""How does a checkpoint download go on by itself on the host, one at a time, and how is it followed?

It runs where huggingface_hub can be imported: by the engine's own Python. `start` leaves a process that outlives the
connection (`on_host/state/detached.py`); what it does is told in STATE/download/progress.jsonl.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from orchestrator.on_host.checkpoint import hub_errors, hub_fetch
from orchestrator.on_host.files.sole_writer import locked
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.secrets import secrets
from orchestrator.on_host.state import detached, state
from orchestrator.on_host.state.detached import Errand, Tell

_PATIENCE_SECONDS = 0.3


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Start a download, say how it stands, or carry it out here.

    request: action "start" | "status" | "run", instance, and for all but status: repository, revision,
    folder, ignore (patterns), endpoint, token, token_consent, keep (files whose local bytes are ours),
    foreign_folder (the consent to write where another user owns the folder), and where other hosts have the files:
    listing {commit, files}, peers ({name, address, port, word}, the source first), turn (which of how many hosts this is).

    Answers {state, holder, last, room} (`detached.status`).
    """
    room = state.state_folder(request["instance"]) / "download"
    try:
        room.mkdir(mode=0o700, exist_ok=True)
    except FileExistsError:
        raise Refusal("state_folder", f"{room} is not a folder; move it away") from None
    action = request["action"]
    if action == "status":
        return detached.status(room)
    if action not in ("start", "run"):
        raise Refusal("bad_request", f"download knows no action {action!r}")
    errand = _errand(request, room)
    return detached.start(errand) if action == "start" else detached.run(errand)


def _errand(request: dict[str, Any], room: Path) -> Errand:
    secrets.remember(request.get("token") or "")
    folder = os.path.realpath(os.path.expanduser(request["folder"]))
    note = {"repository": request["repository"], "revision": request["revision"], "folder": folder}
    return Errand("download", room, note, lambda say: _outcome(request, folder, room, say))


def _outcome(request: dict[str, Any], folder: str, room: Path, say: Tell) -> dict[str, Any]:
    """The last line of progress: {"done": true, ...} or {"error": {code, message}}."""
    print(f"{state.now()} {request['repository']} at {request['revision']} into {folder}", file=sys.stderr)
    try:
        with _sole_writer(folder, bool(request.get("foreign_folder"))):
            return hub_fetch.fetch(request, folder, room, say)
    except hub_errors.DownloadFailure as failure:
        return {"error": {"code": failure.code, "message": failure.message}}
    except Exception as error:
        traceback.print_exc()
        message = f"{folder}: {hub_errors.sentence_of(error)}"
        return {"error": {"code": hub_errors.code_of(error), "message": message}}


@contextlib.contextmanager
def _sole_writer(folder: str, foreign_folder: bool) -> Iterator[None]:
    """Hold the folder as its only writer, whoever the other may be; no file is left behind."""
    try:
        os.makedirs(folder, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        reason = f"{folder} is a file, or leads through one, and no folder can be made there"
        raise hub_errors.DownloadFailure("checkpoint_folder", reason) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise hub_errors.DownloadFailure("permission", f"{folder} cannot be written by uid {os.geteuid()}")
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        owner = os.fstat(descriptor).st_uid
        if owner != os.getuid() and not foreign_folder:
            raise hub_errors.DownloadFailure(
                "foreign_folder",
                f"{folder} belongs to uid {owner}, not to us: nothing is written without consent",
            )
        if not locked(descriptor, patience_seconds=_PATIENCE_SECONDS):
            raise hub_errors.DownloadFailure("checkpoint_busy", f"another process is writing in {folder}")
        yield
    finally:
        os.close(descriptor)
