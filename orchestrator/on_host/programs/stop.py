"""How is everything of a launch ended, and nothing else?"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from orchestrator.on_host.footprint import Footprint
from orchestrator.on_host.kinds import launches
from orchestrator.on_host.kinds.kind import Launch, Table
from orchestrator.on_host.processes import gpu_memory, makers, procs
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.removing import ray_folder, shared_memory
from orchestrator.on_host.state.state import append, at_work, boot_id, state_folder

ORPHANS_GRACE_SECONDS = 1.0
"""vLLM's workers without their API server ignore TERM (seen with 0.32): waiting for them is in vain."""
RECORDING_SECONDS = 2.0
"""How long the supervisor may take to record the exit status once its engine is gone."""


def main(request: dict[str, Any]) -> dict[str, Any]:
    """End a launch and clean up after it; harmless when nothing of it lives.

    request: instance, launch (null: the one that lives, else the latest), grace_seconds after TERM,
    kill_seconds after KILL, footprint (what the engine leaves on a host, for a launch whose record does not tell),
    remove_shm, consented_shm (names of entries that may go though they are not known to be ours), wait_gpu_seconds,
    by_person, anew (for the journal). Answers {launch, ended: [{pid, name}], killed: how many needed KILL, exit_code,
    left: [{pid, name}] (they write into its log, are not known to be its own, and live on), shm_removed: [{name, bytes}],
    shm_kept: [{name, bytes, reason, doubtful}], gpu: {...} or null, seconds}; launch is null where none was ever started. Raises Refusal("no_launch") for an unknown number and
    Refusal("will_not_die") when something survives KILL or may not be ended by this user.
    """
    state = state_folder(request["instance"])
    with at_work(state):
        return _stop(request, state)


def _stop(request: dict[str, Any], state: Path) -> dict[str, Any]:
    began = time.monotonic()
    number = request.get("launch")
    launch = launches.choose(state, number, launches.table())
    if launch is None:
        if number is not None:
            raise Refusal("no_launch", f"there is no launch {number} on this machine")
        return _answer(None, None, [], [], [], None, began)
    ending = Ending(launch)
    survivors = ending.run(request["grace_seconds"], request["kill_seconds"])
    if survivors:
        names = ", ".join(
            f"pid {process.pid} ({procs.name(process)}, state {process.state})" for process in survivors
        )
        append(state, {"action": "stop_failed", "launch": launch.number, "survivors": names})
        raise Refusal("will_not_die", f"KILL does not end launch {launch.number}: {names}")
    ray_folder.remove(launch.folder)
    removed: list[shared_memory.ShmFile] = []
    kept: list[tuple[shared_memory.ShmFile, str]] = []
    if request.get("remove_shm", True):
        leaves = launch.footprint or Footprint.of(request["footprint"])
        claim = shared_memory.Claim(
            uid=os.getuid(),
            footprint=leaves,
            held=ending.launch.shm_held(boot_id()),
            before=launch.shm_before(boot_id()),
            ended=None if ending.seen else launch.ended_at(),
            consented=frozenset(request.get("consented_shm") or ()),
            makers=tuple(makers.living(os.getuid(), shared_memory.FOLDER, leaves.shared_memory)),
            unseen=shared_memory.shared_with_unseen(),
        )
        removed, kept = shared_memory.clean(claim)
    gpu = None
    if request.get("wait_gpu_seconds"):
        before = launch.record.get("gpu_before_mib")
        gpu = gpu_memory.wait(set(ending.seen), before, request["wait_gpu_seconds"])
    left = launches.writers(launch, launches.table())
    answer = _answer(launch, ending, left, removed, kept, gpu, began)
    brief = {"shm_removed": [entry.name for entry in removed], "shm_kept": len(kept)}
    append(
        state,
        {
            "action": "stop",
            **answer,
            **brief,
            "by_person": bool(request.get("by_person")),
            "anew": bool(request.get("anew")),
        },
    )
    return answer


def _answer(
    launch: Launch | None,
    ending: Ending | None,
    left: list[procs.Process],
    removed: list[shared_memory.ShmFile],
    kept: list[tuple[shared_memory.ShmFile, str]],
    gpu: dict[str, Any] | None,
    began: float,
) -> dict[str, Any]:
    seen = ending.seen if ending else {}
    return {
        "launch": launch.number if launch else None,
        "ended": [{"pid": pid, "name": name} for pid, name in sorted(seen.items())],
        "killed": len(ending.killed) if ending else 0,
        "exit_code": launch.exit_code() if launch else None,
        "left": [{"pid": process.pid, "name": procs.name(process)} for process in left],
        "shm_removed": [{"name": entry.name, "bytes": entry.bytes} for entry in removed],
        "shm_kept": [
            {
                "name": entry.name,
                "bytes": entry.bytes,
                "reason": reason,
                "doubtful": reason.startswith(shared_memory.DOUBT),
            }
            for entry, reason in kept
        ],
        "gpu": gpu,
        "seconds": round(time.monotonic() - began, 3),
    }


class Ending:
    """The ending of one launch: who was seen, who needed KILL."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.seen: dict[int, str] = {}
        self.killed: set[int] = set()
        self._asked: set[int] = set()

    def run(self, grace_seconds: float, kill_seconds: float) -> list[procs.Process]:
        """TERM, wait, KILL, in the way of the launch's kind; gives back who lives on.

        The supervisor is spared as long as it may take to record the exit status of its engine.
        """
        if launches.supervisor(self.launch, launches.table()) is None:
            grace_seconds = min(grace_seconds, ORPHANS_GRACE_SECONDS)
        self._until_gone(self._engine, self._terminate, grace_seconds)
        self._until_gone(self._engine, self._kill, kill_seconds)
        self._until_gone(self._everyone, lambda _: None, RECORDING_SECONDS)
        return self._until_gone(self._everyone, self._kill, RECORDING_SECONDS)

    def _everyone(self) -> list[procs.Process]:
        return self._look(launches.table())

    def _engine(self) -> list[procs.Process]:
        at = launches.table()
        return launches.engine(self.launch, self._look(at), at)

    def _look(self, at: Table) -> list[procs.Process]:
        """The living members; what they hold is noted while they still hold it."""
        living, self.launch = launches.look(self.launch, at)
        for process in living:
            if process.pid not in self.seen:
                self.seen[process.pid] = procs.name(process)
        return living

    def _until_gone(
        self,
        members: Callable[[], list[procs.Process]],
        act: Callable[[list[procs.Process]], None],
        seconds: float,
    ) -> list[procs.Process]:
        """Act on those who live, again on whoever appears; gives back who lives when the time is over."""
        give_up = time.monotonic() + seconds
        while True:
            living = members()
            left = give_up - time.monotonic()
            if not living or left <= 0:
                return living
            act(living)
            procs.wait_for_end(living, min(left, 1.0))

    def _terminate(self, living: list[procs.Process]) -> None:
        """Ask the engine, which then ends its own workers; ask those too whom it left behind when it went."""
        pids = {process.pid for process in living}
        heads = [
            process for process in living if process.parent not in pids and process.pid not in self._asked
        ]
        if heads:
            self._asked.update(process.pid for process in heads)
            self.launch.kind.terminate(self.launch, heads)

    def _kill(self, living: list[procs.Process]) -> None:
        self.killed |= self.launch.kind.kill(self.launch, living)
