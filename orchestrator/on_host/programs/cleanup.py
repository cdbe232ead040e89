"""How is something cleaned that a launch stumbled over and that is more than its own processes and memory files?"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Any

from orchestrator.on_host.footprint import Footprint
from orchestrator.on_host.kinds import launches
from orchestrator.on_host.kinds.kind import Launch
from orchestrator.on_host.processes import gpu_memory, in_use
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.removing import caches, engines, hub_locks, removal
from orchestrator.on_host.state.state import append, at_work, state_folder

STEADY_SECONDS = 5.0
"""Memory of the GPUs that did not fall for so long will not fall by itself."""
POLL_SECONDS = 0.5


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Clean what the names say; harmless where there is nothing.

    request: instance, names ("compile_cache", "stale_lock", "gpu_memory_wait"), folder (the checkpoint's), environment
    (what the engine is started with) and footprint (what it leaves on a host; of both, what the last launch had counts, where
    that is on record), engines (the footprints of all kinds, by which living ones are known), seconds (the longest wait),
    gpu_at_most_mib ({uuid: MiB}: once no GPU has more in use there is nothing left to wait for; empty where that is not known).
    Answers {name: {...}}: compile_cache
    {removed: [path], kept: [{path, reason}]}, stale_lock {removed: [path], kept: [{path, reason}]}, gpu_memory_wait
    {seconds, used_mib, holders: [{pid, user, command}], given_back: whether memory of a GPU came back meanwhile or since the last
    launch began, null where no GPU tells} or null where nvidia-smi does not answer.
    """
    state = state_folder(request["instance"])
    done: dict[str, Any] = {}
    with at_work(state):
        for name in request["names"]:
            if name == "compile_cache":
                done[name] = _compile_caches(state, request)
            elif name == "stale_lock":
                done[name] = _stale_locks(request["folder"], _environment(state, request))
            elif name == "gpu_memory_wait":
                done[name] = _wait_for_gpus(state, request)
            else:
                raise Refusal("bad_request", f"cleanup knows no {name!r}")
        append(state, {"action": "clean", "what": done})
    return done


def _last(state: Path) -> Launch | None:
    return launches.choose(state, None, launches.table())


def _environment(state: Path, request: dict[str, Any]) -> dict[str, str]:
    """What the last launch went by to find its caches; where none is on record, what one would go by now."""
    launch = _last(state)
    recorded = launch.record.get("caches_by") if launch else None
    if isinstance(recorded, dict):
        return {name: value for name, value in recorded.items() if isinstance(value, str)}
    return {**os.environ, **request["environment"]}


def _footprint(state: Path, request: dict[str, Any]) -> Footprint:
    """What the engine of the last launch leaves; where that is not on record, what one of now would leave."""
    launch = _last(state)
    return (launch.footprint if launch else None) or Footprint.of(request["footprint"])


def _compile_caches(state: Path, request: dict[str, Any]) -> dict[str, Any]:
    """Take away what was compiled for earlier launches; it is compiled again when it is wanted."""
    removed: list[str] = []
    kept: list[dict[str, str]] = []
    own = _footprint(state, request)
    led = engines.by_cache([own, *map(Footprint.of, request["engines"])])
    for cache in caches.compiled(_environment(state, request), own):
        path = os.path.join(cache.base, cache.below)
        if (pid := led.get(engines.place(cache))) is not None and os.path.lexists(path):
            kept.append({"path": path, "reason": f"the engine of pid {pid} keeps what it compiles there"})
            continue
        for below in cache.parts():
            removal.sweep(cache.base, below)
            _take(cache.base, below, removed, kept, spare=[request["folder"]], local=True)
    return {"removed": removed, "kept": kept}


def _take(base: str, below: str, removed: list[str], kept: list[dict[str, str]], **more: Any) -> None:
    path = os.path.join(base, below)
    with contextlib.suppress(FileNotFoundError):
        reason = removal.take(base, below, **more)
        if reason is None:
            removed.append(path)
        else:
            kept.append({"path": path, "reason": reason})


def _stale_locks(folder: str, environment: dict[str, str]) -> dict[str, Any]:
    """Take away lock files of downloads which nobody holds."""
    removed: list[str] = []
    kept: list[dict[str, str]] = []
    for base, room in (
        (os.path.expanduser(folder), ".cache/huggingface/download"),
        (caches.hub(environment), ".locks"),
    ):
        names = hub_locks.lock_files(base, room)
        used = in_use.users(names, in_use.everybody())
        for file, below in sorted(names.items(), key=lambda lock: lock[1]):
            with hub_locks.tried(base, below) as reason:
                if reason:
                    kept.append({"path": os.path.join(base, below), "reason": reason})
                else:
                    _take(base, below, removed, kept, used=used, expect=file, local=True)
    return {"removed": removed, "kept": kept}


def _wait_for_gpus(state: Path, request: dict[str, Any]) -> dict[str, Any] | None:
    """Wait as long as memory of the GPUs is being given back and one of them has too little."""
    seconds, at_most = request["seconds"], request.get("gpu_at_most_mib") or {}
    last = _last(state)
    before = (last.record.get("gpu_before_mib") if last else None) or {}
    began = fell = time.monotonic()
    first = lowest = now = gpu_memory.used()
    while now is not None and lowest is not None and first is not None:
        waited = time.monotonic() - began
        enough = bool(at_most) and not gpu_memory.without_room(now, at_most)
        if enough or time.monotonic() - fell >= STEADY_SECONDS or waited >= seconds:
            return {
                "seconds": round(waited, 1),
                "used_mib": now,
                "holders": gpu_memory.holders(),
                "given_back": gpu_memory.given_back(now, first, before),
            }
        time.sleep(POLL_SECONDS)
        now = gpu_memory.used()
        if now is not None and sum(now.values()) < sum(lowest.values()):
            lowest, fell = now, time.monotonic()
    return None
