"""Is the memory of the GPUs free again?"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.on_host.processes import procs

SLACK_MIB = 512
"""How far above the memory used before the launch still counts as given back."""


def _number(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isdecimal() and len(text) < 19 else None


def parse_used(text: str) -> dict[str, int]:
    """GPU uuid to MiB used, from `--query-gpu=uuid,memory.used --format=csv,noheader,nounits`.

    A GPU that does not tell (MIG, memory shared with the CPU) is left out.
    """
    rows = (line.split(",") for line in text.splitlines())
    pairs = ((row[0].strip(), _number(row[1])) for row in rows if len(row) == 2)
    return {uuid: used for uuid, used in pairs if used is not None}


@dataclass(frozen=True)
class App:
    """A process that computes on a GPU, as nvidia-smi names it; inside a container its pid may be the host's."""

    pid: int
    uuid: str
    mib: int | None
    name: str

    @property
    def visible(self) -> bool:
        """Whether the process of that number here is the one that the driver means, by its name."""
        return bool(self.name) and _program(self.name) == _program(procs.command(self.pid))


def _program(command: str) -> str:
    return os.path.basename(command.split(" ")[0])


def parse_apps(text: str) -> list[App]:
    """The processes of `--query-compute-apps=pid,gpu_uuid,used_memory,name --format=csv,noheader,nounits`."""
    listed = []
    for line in text.splitlines():
        pid, uuid, mib, name = (*(cell.strip() for cell in line.split(",", 3)), "", "", "", "")[:4]
        number = _number(pid)
        if number is not None and uuid:
            listed.append(App(number, uuid, _number(mib), name))
    return listed


def _ask(query: str, timeout: float) -> str | None:
    """What nvidia-smi answers; None where there is none, it fails, or it hangs longer than the timeout."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, query, "--format=csv,noheader,nounits"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def used(timeout: float = 10.0) -> dict[str, int] | None:
    """MiB used by GPU uuid now; None where it cannot be told."""
    text = _ask("--query-gpu=uuid,memory.used", timeout)
    return None if text is None else parse_used(text)


def without_room(now: Mapping[str, int] | None, at_most: Mapping[str, int]) -> dict[str, int]:
    """MiB used by the uuid of each GPU that has more in use than it may; of one that does not tell nothing is known."""
    return {uuid: mib for uuid, mib in (now or {}).items() if mib > at_most.get(uuid, mib)}


def given_back(now: Mapping[str, int], *earlier: Mapping[str, int]) -> bool | None:
    """Whether less is in use on some GPU than at one of the earlier times; None where no two of them tell of the same GPU."""
    then = {uuid: max(used[uuid] for used in earlier if uuid in used) for used in earlier for uuid in used}
    less = [mib < then[uuid] - SLACK_MIB for uuid, mib in now.items() if uuid in then]
    return any(less) if less else None


def apps() -> list[App] | None:
    """Who computes on a GPU now; None where it cannot be told."""
    text = _ask("--query-compute-apps=pid,gpu_uuid,used_gpu_memory,process_name", 10.0)
    return None if text is None else parse_apps(text)


def holders() -> list[dict[str, Any]]:
    """[{gpu_uuid, pid, name, memory_mib, user, command, container}] of the processes that compute on a GPU, one for each GPU.

    What follows the memory is null where the process cannot be looked at from here.
    """
    return [
        {
            "gpu_uuid": app.uuid,
            "pid": app.pid,
            "name": app.name,
            "memory_mib": app.mib,
            "user": procs.owner(app.pid) if app.visible else None,
            "command": procs.command(app.pid) if app.visible else None,
            "container": procs.container(app.pid) if app.visible else None,
        }
        for app in apps() or ()
    ]


def held(pids: Collection[int], before: Mapping[str, int] | None) -> dict[str, Any]:
    """What these processes hold: {"processes": {pid: MiB}, "cards": {uuid: MiB}}, 0 MiB where only that is unknown."""
    now, everyone = used(), apps()
    if now is None or everyone is None:
        return {"processes": {}, "cards": {}}
    processes: dict[int, int] = {}
    cards = unreturned(now, before, everyone, pids)
    listed: dict[str, int] = {}
    for app in everyone:
        if app.pid in pids:
            processes[app.pid] = processes.get(app.pid, 0) + (app.mib or 0)
            listed[app.uuid] = listed.get(app.uuid, 0) + (app.mib or 0)
    return {"processes": processes, "cards": {uuid: listed.get(uuid) or mib for uuid, mib in cards.items()}}


def unreturned(
    now: Mapping[str, int],
    before: Mapping[str, int] | None,
    apps: Collection[App],
    pids: Collection[int],
) -> dict[str, int]:
    """GPU uuid to MiB that a launch still holds: 0 where its process is listed but the amount unknown.

    A GPU on which somebody else computes is judged by the listed processes alone: what it used before
    the launch says nothing about now.
    """
    ours = {app.uuid for app in apps if app.pid in pids}
    foreign = {app.uuid for app in apps if app.pid not in pids}
    kept = dict.fromkeys(ours, 0)
    for uuid, used_now in now.items():
        over = used_now - (before or {}).get(uuid, used_now)
        if over > SLACK_MIB and uuid not in foreign:
            kept[uuid] = over
    return kept


def wait(pids: Collection[int], before: Mapping[str, int] | None, seconds: float) -> dict[str, Any] | None:
    """Wait until GPU memory is back, at most so many seconds.

    {"returned": bool, "seconds": waited, "used_mib": {uuid: MiB}, "held_mib": {uuid: MiB}, "note": text
    or None}; None where nvidia-smi is absent or does not answer.
    """
    began = time.monotonic()
    while True:
        now, computing = used(), apps()
        if now is None or computing is None:
            return None
        kept = unreturned(now, before, computing, pids)
        waited = time.monotonic() - began
        if not kept or waited >= seconds:
            amounts = ", ".join(f"{uuid} {mib or '?'} MiB" for uuid, mib in sorted(kept.items()))
            note = f"memory not given back after {waited:.0f} s: {amounts}" if kept else None
            return {
                "returned": not kept,
                "seconds": round(waited, 1),
                "used_mib": now,
                "held_mib": kept,
                "note": note,
            }
        time.sleep(0.5)
