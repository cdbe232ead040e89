"""How is this deployment now?"""

from __future__ import annotations

import stat
import time
from pathlib import Path
from typing import Any

from orchestrator.on_host.kinds import launches
from orchestrator.on_host.kinds.kind import Launch, Table
from orchestrator.on_host.ports import endpoint, listeners
from orchestrator.on_host.processes import procs
from orchestrator.on_host.removing import shared_memory
from orchestrator.on_host.state import turns
from orchestrator.on_host.state.state import boot_id, known_folder, machine_id, records


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Everything that can be told in one round trip; changes nothing, but notes what it saw of a launch.

    request: instance, port, host, health_path (null: it answers no requests, and nobody is asked), model, api_key, launch (null: the one that lives, else the latest). A launch
    that lives is asked where it was started to answer (`note.endpoint` of its command), whatever the request says.
    Answers {launch: N or null, process: {alive, pid, started_at, members: [{pid, name, rss_bytes}],
    exit_code} or null, command: what was started or null, endpoint: {host, port, model} that was asked, log: {path, bytes, silent_seconds} or null,
    health: status or null, models: [id], context: tokens of one request of the endpoint's model, null where it does not say, listener: {ours, pid, command, user, since} or null, with free_port, the next that is free, where it is not ours,
    shm: {entries, bytes} held by members, journal: [record], turn (`turns.word`, read before all else), machine, boot_id, state: the folder}. `alive` is the
    supervisor's; members may live on without it.
    """
    state = known_folder(request["instance"])
    turn = turns.word(state / "lock")
    launch, members, process = _launch(state, request.get("launch"))
    command = launch.command() if launch else None
    requested = {
        "host": request.get("host") or "127.0.0.1",
        "port": request["port"],
        "model": request.get("model"),
    }
    place = (_place(command) if command and members else None) or requested
    host, port = place["host"], place["port"]
    path = request["health_path"]
    health = endpoint.health(host, port, path, timeout=2.0) if path else None
    models = None
    if health == 200:
        models = endpoint.models(host, port, api_key=request.get("api_key"), timeout=2.0)
    listener = None
    if path:
        listener = listeners.occupant(endpoint.reachable(host), port, [member.pid for member in members])
    if listener and not listener["ours"]:
        listener["free_port"] = listeners.free_port(port)
    return {
        "launch": launch.number if launch else None,
        "process": process,
        "command": command,
        "endpoint": place,
        "log": _log(launch) if launch else None,
        "health": health,
        "models": list(models or ()),
        "context": (models or {}).get(place["model"]),
        "listener": listener,
        "shm": _shared_memory(members),
        "journal": records(state),
        "turn": turn,
        "machine": machine_id(),
        "boot_id": boot_id(),
        "state": str(state),
    }


def _launch(
    state: Path, number: int | None
) -> tuple[Launch | None, list[procs.Process], dict[str, Any] | None]:
    """The launch, its members, and what is told of its process; where none is recorded no process need be looked at."""
    if not launches.numbers(state):
        return None, [], None
    at = launches.table()
    launch = launches.choose(state, number, at)
    members = launches.look(launch, at)[0] if launch else []
    return launch, members, _process(launch, members, at) if launch else None


def _place(command: dict[str, Any]) -> dict[str, Any] | None:
    """Where a launch was started to answer, as far as its record says so."""
    place = (command.get("note") or {}).get("endpoint")
    if not isinstance(place, dict):
        return None
    host, port, model = (place.get(key) for key in ("host", "port", "model"))
    if not isinstance(host, str) or not isinstance(model, str):
        return None
    return {"host": host, "port": port, "model": model} if type(port) is int and 0 < port < 1 << 16 else None


def _process(launch: Launch, members: list[procs.Process], at: Table) -> dict[str, Any]:
    started_at = launch.record.get("started_at")
    return {
        "alive": launches.supervisor(launch, at) is not None,
        "pid": launch.pid,
        "started_at": started_at if isinstance(started_at, str) else None,
        "members": [
            {"pid": member.pid, "name": procs.name(member), "rss_bytes": procs.resident_bytes(member.pid)}
            for member in members
        ],
        "exit_code": launch.exit_code(),
    }


def _log(launch: Launch) -> dict[str, Any] | None:
    try:
        status = launch.log.stat()
    except OSError:
        return None
    if not stat.S_ISREG(
        status.st_mode
    ):  # `tail` would wait for a pipe, and never come to the end of a device
        return None
    silent = max(0.0, time.time() - status.st_mtime)
    return {"path": str(launch.log), "bytes": status.st_size, "silent_seconds": round(silent, 1)}


def _shared_memory(members: list[procs.Process]) -> dict[str, int]:
    entries = shared_memory.entries()
    held = shared_memory.holders(entries, [member.pid for member in members])
    sizes = [entry.bytes for entry in entries if entry.name in held]
    return {"entries": len(sizes), "bytes": sum(sizes)}
