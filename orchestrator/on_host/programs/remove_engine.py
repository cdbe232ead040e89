"""How is an engine of our own taken away, once nobody uses it?"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.on_host.environments import cache, rooms, sizes, uses
from orchestrator.on_host.environments.rooms import Room
from orchestrator.on_host.files.sole_writer import locked
from orchestrator.on_host.processes import in_use, procs
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.removing import removal
from orchestrator.on_host.state import state

_PATIENCE_SECONDS = 0.3


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Remove it, and what of uv's cache only it used.

    request: engine, version, used (the consent to remove what the last launch of a deployment used). Answers {freed_bytes}:
    by so much the room on the disk grew. Raises Refusal: no_such_engine, engine_busy (somebody makes it), engine_in_use,
    engine_kept.
    """
    there = rooms.room(request["engine"], request["version"])
    pin = f"{there.engine}=={there.version}"
    if not there.path.is_dir():
        raise Refusal("no_such_engine", f"there is no {pin} in {rooms.folder()}")
    _sweep()
    before = sizes.free(rooms.folder())
    descriptor = state.opened(there.path / "lock", os.O_RDWR)
    try:
        if not locked(descriptor, patience_seconds=_PATIENCE_SECONDS):
            raise Refusal("engine_busy", f"{pin} is being installed now")
        _require_unused(there, pin, consent=request["used"])
        reason = removal.take(str(rooms.folder()), there.path.name, used=_users(there))
    finally:
        os.close(descriptor)
    if reason:
        raise Refusal("engine_kept", f"{there.path} stays: {reason}")
    if all(
        other.state() != "making" for other in rooms.every()
    ):  # what was just unpacked has no second name yet
        cache.trim(rooms.folder())
    answer = {"freed_bytes": max(0, sizes.free(rooms.folder()) - before)}
    state.append(rooms.folder(), {"action": "remove", "engine": pin, "folder": str(there.path), **answer})
    return answer


def _sweep() -> None:
    """What an earlier removal was ended in the middle of, of whichever engine."""
    for name in os.listdir(rooms.folder()):
        left, aside, _ = name.partition(removal.ASIDE)
        if aside:
            removal.sweep(str(rooms.folder()), left)


def _require_unused(there: Room, pin: str, *, consent: bool) -> None:
    folder = os.path.realpath(there.interpreter.parent)
    known, deployed = list(uses.uses()), uses.deployed_now()
    for use in known:
        if use.folder == folder and (use.alive or use.deployment in deployed or not consent):
            how = "lives" if use.alive else "may be started again"
            raise Refusal("engine_in_use", f"launch {use.launch} of {use.deployment} uses {pin}, and {how}")
    for deployment in sorted(deployed - {use.deployment for use in known}):
        raise Refusal(
            "engine_in_use", f"{deployment} is being deployed now, maybe by {pin}: it has no launch yet"
        )


def _users(there: Room) -> Mapping[in_use.File, Sequence[int]]:
    """The processes that run by it, of whoever: by its path, since by inode they are also those of another engine that has
    the same wheel."""
    real = os.path.realpath(there.path)
    status = os.lstat(there.path)
    prefixes = {f"{path}/" for path in (str(there.path), real)}
    pids = [
        pid
        for pid in in_use.everybody()
        if pid != os.getpid()
        and (
            procs.command(pid).startswith(tuple(prefixes))
            or f" {real}/".encode() in procs.read_bytes(f"/proc/{pid}/maps")
        )
    ]
    return {(status.st_dev, status.st_ino): pids}
