"""How are a checkpoint's config files exchanged so that nothing is lost and everything can be put back?

Every change is a compare-and-swap on the file's sha256: the original bytes go to the backups first, then
the journal says what is about to happen, then a temporary file beside the target is renamed over it.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from orchestrator.on_host.checkpoint.configs import CONFIGS
from orchestrator.on_host.files import regular_file
from orchestrator.on_host.files.exchanged import exchanged
from orchestrator.on_host.files.sole_writer import locked
from orchestrator.on_host.kinds.launches import served_from
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.removing import removal
from orchestrator.on_host.state import state

LARGEST_BYTES = 64 * 1024 * 1024
_TEMPORARY = re.compile(rf"\.(?:{'|'.join(map(re.escape, CONFIGS))})\.deploy-[a-z0-9_]+")


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Apply a patch's changes, or put the original bytes back.

    request: instance, folder, action "apply" | "restore", patch, foreign_folder (consent given);
    apply: record (what the journal shall say besides), files [{name, expect (sha256), content (base64)}];
    restore: files [{name, before (sha256), after (sha256), symlink (target or null)}], shared_checkpoint (consent given, or not asked
    for: other deployments may have launches that serve from the folder).
    Answers {"record": the journal's record, "files": [{name, done}]}.
    """
    deployment = state.state_folder(request["instance"])
    folder = Path(request["folder"])
    files = request["files"]
    for file in files:
        if os.path.basename(file["name"]) != file["name"]:
            raise Refusal("bad_request", f"{file['name']!r:.80} is no file of the checkpoint's folder itself")
    sole_writer = (
        _sole_writer(folder, bool(request.get("foreign_folder"))) if files else contextlib.nullcontext()
    )
    with state.at_work(deployment), sole_writer:
        if request["action"] == "apply":
            return _apply(deployment, folder, request)
        if files and not request["shared_checkpoint"]:
            _require_unshared(folder, request["instance"])
        return _restore(deployment, folder, request)


def _apply(deployment: Path, folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    changes = []
    for file in request["files"]:
        path = folder / file["name"]
        content = base64.b64decode(file["content"])
        before = _read(path)
        if _sha256(before) != file["expect"]:
            raise Refusal(
                "changed_meanwhile", f"{path} changed while the patch was planned; nothing was written"
            )
        changes.append((path, before, content))
    described = [
        {
            "name": path.name,
            "before": _sha256(before),
            "after": _sha256(content),
            "symlink": os.readlink(path) if path.is_symlink() else None,
        }
        for path, before, content in changes
    ]
    for _, before, _ in changes:
        _back_up(deployment, before)
    record = {
        **request.get("record", {}),
        "action": "patch",
        "patch": request["patch"],
        "folder": str(folder),
        "files": described,
    }
    stamped = state.append(deployment, record)
    try:
        _exchange_all(changes)
    except Refusal:
        state.append(deployment, {"action": "revert", "patch": request["patch"], "folder": str(folder)})
        raise
    return {"record": stamped, "files": [{"name": file["name"], "done": "patched"} for file in described]}


def _restore(deployment: Path, folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    changes = []
    links = []
    missing = []
    done = []
    for file in request["files"]:
        path = folder / file["name"]
        current = _read(path) if os.path.lexists(path) else None
        if current is None:  # somebody removed it: the original fills the gap
            missing.append((path, _backup(deployment, file["before"], path)))
            done.append({"name": file["name"], "done": "restored"})
            continue
        if _sha256(current) == file["before"]:
            done.append({"name": file["name"], "done": "already original"})
            continue
        if _sha256(current) != file["after"]:
            raise Refusal(
                "changed_meanwhile",
                f"{path} is neither the original nor what {request['patch']} made of it; it stays as it is "
                "(revert --forget takes the patch out of force without it)",
            )
        original = _backup(deployment, file["before"], path)
        target = file.get("symlink")
        if target and _sha256_of(folder / target) == file["before"]:
            links.append((path, target))
        else:
            changes.append((path, current, original))
        done.append({"name": file["name"], "done": "restored"})
    record = {"action": "revert", "patch": request["patch"], "folder": str(folder)}
    _exchange_all(changes)
    for path, target in links:
        _relink(path, target)
    for path, original in missing:
        _replace(path, original, mode=0o644, owner=None, times=None)
    return {"record": state.append(deployment, {**request.get("record", {}), **record}), "files": done}


def _require_unshared(folder: Path, own: str) -> None:
    """Raise Refusal("shared_checkpoint") where another deployment has a launch that lives and was started from the folder: what it
    has read stays with it, and its next launch would read what it was not started with."""
    others = sorted(set(served_from(folder)) - {own})
    if others:
        raise Refusal(
            "shared_checkpoint",
            f"{', '.join(others)} also serve{'s' if len(others) == 1 else ''} from {folder}: the patch would be taken from "
            f"{'it' if len(others) == 1 else 'them'} too, from the next start on",
        )


@contextlib.contextmanager
def _sole_writer(folder: Path, foreign_folder: bool) -> Iterator[None]:
    """Hold the folder as its only writer (an flock on the folder itself leaves no file behind)."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise Refusal("checkpoint_folder", f"cannot open {folder}: {error.strerror}") from error
    try:
        owner = os.fstat(descriptor).st_uid
        if owner != os.getuid() and not foreign_folder:
            raise Refusal(
                "foreign_folder",
                f"{folder} belongs to uid {owner}, not to uid {os.getuid()}: it is not edited without consent",
            )
        if not locked(descriptor):
            raise Refusal("checkpoint_busy", f"another process is writing in {folder}")
        _sweep(folder, {os.getuid(), owner})
        yield
    finally:
        os.close(descriptor)


def _prefix(name: str) -> str:
    return f".{name}.deploy-"


def _sweep(folder: Path, owners: set[int]) -> None:
    """Remove temporary files that a killed run of this program left."""
    for name in os.listdir(folder):
        if _TEMPORARY.fullmatch(name):
            with contextlib.suppress(FileNotFoundError):
                removal.take(str(folder), name, owners=owners)


def _read(path: Path) -> bytes:
    try:
        return regular_file.read(path, LARGEST_BYTES)
    except regular_file.TooLarge as why:
        raise Refusal("config_too_large", f"{path} {why}: not a model config") from why
    except regular_file.Unfit as why:
        raise Refusal("config_missing", f"{path}: {why}") from why


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _sha256_of(path: Path) -> str | None:
    try:
        return _sha256(regular_file.read(path, LARGEST_BYTES))
    except regular_file.Unfit:
        return None


def _back_up(deployment: Path, content: bytes) -> None:
    """Keep the bytes under their own hash, on disk, before anything is changed."""
    folder = deployment / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder / _sha256(content)
    if _sha256_of(target) == target.name:
        return
    _replace(target, content, mode=0o600, owner=None, times=None)


def _backup(deployment: Path, digest: str, path: Path) -> bytes:
    target = deployment / "backups" / digest
    if _sha256_of(target) != digest:
        raise Refusal("backup_missing", f"the original of {path} is missing or damaged in {target.parent}")
    return _read(target)


def _exchange_all(changes: list[tuple[Path, bytes, bytes]]) -> None:
    """Exchange all files or none: a failure puts back those already exchanged."""
    done: list[tuple[Path, bytes]] = []
    try:
        for path, before, after in changes:
            _exchange(path, after)
            done.append((path, before))
    except OSError as error:
        for path, before in done:
            _exchange(path, before)
        raise Refusal(
            "not_writable", f"cannot write in {changes[0][0].parent}: {error.strerror}; nothing was changed"
        ) from error


def _exchange(path: Path, content: bytes) -> None:
    """Put new bytes in a file's place: owner and mode kept, a link replaced and its target left alone.

    The time of the last change is kept too: the Hub client takes a newer file for an outdated one and
    would fetch the original again.
    """
    before = path.stat()
    _replace(
        path,
        content,
        mode=stat.S_IMODE(before.st_mode),
        owner=(before.st_uid, before.st_gid),
        times=(before.st_atime_ns, before.st_mtime_ns),
    )


def _replace(
    path: Path, content: bytes, *, mode: int, owner: tuple[int, int] | None, times: tuple[int, int] | None
) -> None:
    with exchanged(path, prefix=_prefix(path.name)) as file:
        file.write(content)
        file.flush()  # or it would be written after its times were set
        if owner is not None and owner != (os.getuid(), os.getgid()):
            with contextlib.suppress(PermissionError):  # only root may give a file away
                os.fchown(file.fileno(), *owner)
        os.fchmod(file.fileno(), mode)
        if times is not None:
            os.utime(file.fileno(), ns=times)
    _sync(path.parent)


def _relink(path: Path, target: str) -> None:
    """Put a symbolic link back in the place of the file that replaced it."""
    name = f"{path.parent}/{_prefix(path.name)}link"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name)
    os.symlink(target, name)
    os.replace(name, path)
    _sync(path.parent)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
