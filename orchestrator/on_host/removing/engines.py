"""Which living engines are led to a cache by their environment, though they have nothing of it open?

While an engine starts, it writes there what it compiles, file by file, and loads it much later.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from orchestrator.on_host.processes import in_use, procs
from orchestrator.on_host.removing import caches

_CALLED = re.compile(r"\bvllm serve\b|\bvllm\.entrypoints\b|^VLLM::")
_MAPPED = b"/vllm/"


def is_one(command: str, maps: bytes) -> bool:
    """Whether a process is an engine, by how it was called and what it has mapped."""
    return bool(_CALLED.search(command)) or _MAPPED in maps


def by_cache() -> Mapping[str, int]:
    """The caches that living engines are led to, by their real paths, and the pid of one such engine.

    Workers that wrote a title over their environment show none; their parent does.
    """
    found: dict[str, int] = {}
    for pid in in_use.everybody():
        if is_one(procs.command(pid), procs.read_bytes(f"/proc/{pid}/maps")):
            environment = procs.environment(pid)
            for cache in caches.compiled(environment) if "HOME" in environment else ():
                found.setdefault(place(cache), pid)
    return found


def place(cache: caches.Cache) -> str:
    return os.path.realpath(os.path.join(cache.base, cache.below))
