"""Which living engines are led to a cache by their environment, though they have nothing of it open?

While an engine starts, it writes there what it compiles, file by file, and loads it much later.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from orchestrator.on_host.footprint import Footprint
from orchestrator.on_host.processes import in_use, procs
from orchestrator.on_host.removing import caches


def is_engine(command: str, maps: bytes, kind: Footprint) -> bool:
    """Whether a process is an engine of that kind, by how it was called and what it has mapped."""
    return bool(re.search(kind.called, command)) or kind.mapped.encode() in maps


def by_cache(kinds: Sequence[Footprint]) -> Mapping[str, int]:
    """The caches that living engines of these kinds are led to, by their real paths, and the pid of one such engine.

    Workers that wrote a title over their environment show none; their parent does.
    """
    led: dict[str, int] = {}
    for pid in in_use.everybody():
        command, maps = procs.command(pid), procs.read_bytes(f"/proc/{pid}/maps")
        for kind in kinds:
            if is_engine(command, maps, kind):
                environment = procs.environment(pid)
                for cache in caches.compiled(environment, kind) if "HOME" in environment else ():
                    led.setdefault(place(cache), pid)
    return led


def place(cache: caches.Cache) -> str:
    return os.path.realpath(os.path.join(cache.base, cache.below))
