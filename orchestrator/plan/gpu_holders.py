"""Who holds memory of the cards, in words? Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchestrator.facts.gpu_processes import GpuProcess
from orchestrator.on_host.secrets.secrets import redact

NAMED = 3
LONGEST_COMMAND = 60


def holders(processes: Iterable[GpuProcess]) -> list[str]:
    """Each process once, with what it holds on all the cards, the largest first: "pid 8121 (python3 train.py, user ml) holds 40,000 MiB"."""
    by_pid: dict[int, list[GpuProcess]] = {}
    for process in processes:
        by_pid.setdefault(process.pid, []).append(process)
    largest = sorted(by_pid.values(), key=lambda same: -sum(process.memory_mib or 0 for process in same))
    listed = [holder(same) for same in largest]
    return [*listed[:NAMED], *([f"and {len(listed) - NAMED} more"] if len(listed) > NAMED else [])]


def holder(same: Sequence[GpuProcess]) -> str:
    """One process by what it holds on each card, at least one."""
    first = same[0]
    program, blank, arguments = (first.command or first.name or "").partition(" ")
    command = redact(f"{program.rpartition('/')[2]}{blank}{arguments}")
    shown = command if len(command) <= LONGEST_COMMAND else f"{command[: LONGEST_COMMAND - 4].rstrip()} ..."
    parts = [shown, first.user and f"user {first.user}", first.container and f"container {first.container}"]
    identity = ", ".join(filter(None, parts)) or "not to be seen from here"
    sizes = [process.memory_mib for process in same]
    amount = f"{sum(size or 0 for size in sizes):,} MiB" if all(sizes) else "memory"
    on = f" on {len(same)} GPUs" if len(same) > 1 else ""
    return f"pid {first.pid} ({identity}) holds {amount}{on}"
