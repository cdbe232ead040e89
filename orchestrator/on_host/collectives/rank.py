"""How fast do GPUs add up what each of them holds, and is the sum right? One rank of them, run by a Python that has torch.

It is started as text (`group.py`) with its settings as JSON: rank, ranks, here (which of this host's ranks it is) and beside (how
many those are), parent (pid), store (a file that all ranks share, or [address, port] where rank 0 is met by those of other
hosts), backend ("nccl", or "gloo" for a CPU), sizes (bytes, each measured), seconds (after which it ends by itself). Each line that it
says begins with {"rank": ...}: `at` "ready" (torch is there and the card is ours), "checked" (`wrong`: how many numbers of the
sum were not right), a size with the `seconds` of one all-reduce, and "done"; or `failed` with a code and a `reason`.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import statistics
import sys
import time
from datetime import timedelta
from typing import Any

_PARENT_DEATH = 1  # PR_SET_PDEATHSIG, include/uapi/linux/prctl.h
_ROUNDS = 3
_ROUND_SECONDS = 0.1
_MOST_CALLS = 1000
_CHECKED_BYTES = 8 << 20


def main(settings: dict[str, Any]) -> None:
    """Say what comes of it; raises whatever torch does."""
    try:
        import torch
        import torch.distributed as dist
    except ImportError as error:
        say(settings, failed="no_torch", reason=str(error))
        return
    device = "cpu"
    if settings["backend"] == "nccl":
        if not torch.cuda.is_available():
            say(settings, failed="no_cuda", reason=f"torch {torch.__version__} sees no GPU by CUDA")
            return
        if torch.cuda.device_count() < settings["beside"]:
            seen = f"torch sees {torch.cuda.device_count()} of {settings['beside']} GPUs"
            say(settings, failed="few_gpus", reason=seen)
            return
        device = f"cuda:{settings['here']}"
        torch.cuda.set_device(device)
    nccl = ".".join(map(str, torch.cuda.nccl.version())) if device != "cpu" else None
    torch.zeros(1, device=device).item()
    say(settings, at="ready", torch=torch.__version__, nccl=nccl)
    limit = timedelta(seconds=settings["seconds"])
    store = _store(settings, dist, limit)
    dist.init_process_group(
        settings["backend"],
        store=store,
        rank=settings["rank"],
        world_size=settings["ranks"],
        timeout=limit,
    )
    say(settings, at="checked", wrong=_wrong(settings, torch, dist, device))
    for size in settings["sizes"]:
        say(settings, size=size, seconds=_seconds(size, torch, dist, device))
    say(settings, at="done")
    dist.destroy_process_group()


def _store(settings: dict[str, Any], dist: Any, limit: timedelta) -> Any:
    """Where ranks tell each other their addresses."""
    if isinstance(settings["store"], str):
        return dist.FileStore(settings["store"], settings["ranks"])
    address, port = settings["store"]
    return dist.TCPStore(address, port, settings["ranks"], settings["rank"] == 0, limit)


def say(settings: dict[str, Any], **value: Any) -> None:
    """In one write, on a line of its own: NCCL's threads say things in between."""
    os.write(1, f"\n{json.dumps({'rank': settings['rank'], **value})}\n".encode())


def _wrong(settings: dict[str, Any], torch: Any, dist: Any, device: str) -> int:
    """How many numbers of a sum of known parts are not what they must be: peer to peer may move nothing, or something else."""
    ranks = settings["ranks"]
    pattern = torch.arange(_CHECKED_BYTES // 4, device=device, dtype=torch.float32) % 251
    data = pattern + settings["rank"]
    dist.all_reduce(data)
    return int((data != pattern * ranks + ranks * (ranks - 1) / 2).sum().item())


def _seconds(size: int, torch: Any, dist: Any, device: str) -> float:
    """What one all-reduce of so many bytes takes, many of them sent off in a row: the median of a few rounds."""
    data = torch.zeros(max(1, size // 4), device=device, dtype=torch.float32)
    _timed(5, data, torch, dist)  # the first ones set connections up
    few = _timed(5, data, torch, dist)
    calls = torch.tensor([min(_MOST_CALLS, max(5, int(_ROUND_SECONDS / few)))], device=device)
    dist.all_reduce(calls, op=dist.ReduceOp.MIN)  # the same for every rank
    return statistics.median(_timed(int(calls.item()), data, torch, dist) for _ in range(_ROUNDS))


def _timed(calls: int, data: Any, torch: Any, dist: Any) -> float:
    def finish() -> None:
        if data.is_cuda:
            torch.cuda.synchronize()

    dist.all_reduce(data[:1])  # all begin together
    finish()
    began = time.perf_counter()
    for _ in range(calls):
        dist.all_reduce(data)
    finish()
    return (time.perf_counter() - began) / calls


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    sys.path = [folder for folder in sys.path if folder]  # no torch.py of the folder that it runs in
    ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL)
    if os.getppid() != given["parent"]:
        raise SystemExit("who started it is gone")
    signal.alarm(int(given["seconds"]) + 1)
    try:
        main(given)
    except Exception as error:
        say(given, failed="error", reason=f"{type(error).__name__}: {error}"[:2000])
        raise
