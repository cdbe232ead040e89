"""Sums of the stand-in: see the package."""

from __future__ import annotations

import os
import time
from typing import Any

from torch import Tensor, cards

RANK = 0


class ReduceOp:
    MIN = "min"


def FileStore(path: str, ranks: int) -> str:
    return path


def TCPStore(address: str, port: int, ranks: int, is_master: bool, timeout: Any) -> str:
    return f"{address}:{port}"


def init_process_group(backend: str, *, rank: int, **more: Any) -> None:
    global RANK
    RANK = rank


def destroy_process_group() -> None:
    pass


def _both(name: str) -> bool:
    wanted = set(os.environ.get(name, "nobody").split(","))
    return wanted <= set(cards()) and os.environ.get("NCCL_P2P_DISABLE") != "1"


def all_reduce(data: Tensor, op: str = "sum") -> None:
    if "STAND_IN_EXIT" in os.environ and RANK == 0:
        raise RuntimeError("NCCL error: unhandled system error")
    if _both("STAND_IN_DEAF"):
        print("NCCL WARN nothing comes of this peer", flush=True)
        time.sleep(600)
    if _both("STAND_IN_WRONG"):
        data.value = 7
    time.sleep(float(os.environ.get("STAND_IN_SECONDS", "0.0001")))
