"""Is the memory of the GPUs free again?"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Collection, Mapping
from typing import Any

from orchestrator.on_host import procs

SLACK_MIB = 512
"""How far above the memory used before the launch still counts as given back."""


def _number(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isdecimal() else None


def parse_used(text: str) -> dict[str, int]:
    """GPU uuid to MiB used, from `--query-gpu=uuid,memory.used --format=csv,noheader,nounits`.

    A GPU that does not tell (MIG, memory shared with the CPU) is left out.
    """
    rows = (line.split(",") for line in text.splitlines())
    pairs = ((row[0].strip(), _number(row[1])) for row in rows if len(row) == 2)
    return {uuid: used for uuid, used in pairs if used is not None}


def parse_apps(text: str) -> list[tuple[int, str]]:
    """(pid, GPU uuid) of `--query-compute-apps=pid,gpu_uuid --format=csv,noheader,nounits`."""
    rows = (line.split(",") for line in text.splitlines())
    pairs = ((_number(row[0]), row[1].strip()) for row in rows if len(row) == 2)
    return [(pid, uuid) for pid, uuid in pairs if pid is not None]


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


def holders() -> list[dict[str, Any]]:
    """[{pid, user, command}] of the processes that compute on a GPU."""
    text = _ask("--query-compute-apps=pid,gpu_uuid", 10.0) or ""
    pids = sorted({pid for pid, _ in parse_apps(text)})
    return [{"pid": pid, "user": procs.owner(pid), "command": procs.command(pid)} for pid in pids]


def unreturned(
    now: Mapping[str, int],
    before: Mapping[str, int] | None,
    apps: Collection[tuple[int, str]],
    pids: Collection[int],
) -> dict[str, int]:
    """GPU uuid to MiB that a launch still holds: 0 where its process is listed but the amount unknown.

    A GPU on which somebody else computes is judged by the listed processes alone: what it used before
    the launch says nothing about now.
    """
    ours = {uuid for pid, uuid in apps if pid in pids}
    foreign = {uuid for pid, uuid in apps if pid not in pids}
    held = dict.fromkeys(ours, 0)
    for uuid, used_now in now.items():
        over = used_now - (before or {}).get(uuid, used_now)
        if over > SLACK_MIB and uuid not in foreign:
            held[uuid] = over
    return held


def wait(pids: Collection[int], before: Mapping[str, int] | None, seconds: float) -> dict[str, Any] | None:
    """Wait until GPU memory is back, at most so many seconds.

    {"returned": bool, "seconds": waited, "used_mib": {uuid: MiB}, "held_mib": {uuid: MiB}, "note": text
    or None}; None where nvidia-smi is absent or does not answer.
    """
    began = time.monotonic()
    while True:
        now = used()
        text = _ask("--query-compute-apps=pid,gpu_uuid", 10.0)
        if now is None or text is None:
            return None
        held = unreturned(now, before, parse_apps(text), pids)
        waited = time.monotonic() - began
        if not held or waited >= seconds:
            amounts = ", ".join(f"{uuid} {mib or '?'} MiB" for uuid, mib in sorted(held.items()))
            note = f"memory not given back after {waited:.0f} s: {amounts}" if held else None
            return {
                "returned": not held,
                "seconds": round(waited, 1),
                "used_mib": now,
                "held_mib": held,
                "note": note,
            }
        time.sleep(0.5)
