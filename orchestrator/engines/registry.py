"""Which engines are there? Each is a folder beside this file, whose `engine.py` holds ENGINE."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from orchestrator import engines as room
from orchestrator.engines.distribution import Installable
from orchestrator.engines.protocol import Engine, ReadEngine

USUAL = "vllm"
"""The engine whose log is read where nobody says which one wrote it."""


@cache
def kinds() -> tuple[str, ...]:
    """The kinds of engines whose logs are read, in the order of the alphabet."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(room.__path__) if module.ispkg))


@cache
def launched() -> tuple[str, ...]:
    """Those of them that are launched."""
    return tuple(kind for kind in kinds() if isinstance(read(kind), Engine))


@cache
def read(kind: str) -> ReadEngine:
    """The engine of that kind; raises LookupError where there is none."""
    name = f"orchestrator.engines.{kind}"
    if not kind.isidentifier() or find_spec(name) is None:
        raise LookupError(f"there is no engine {kind!r}")
    engine: ReadEngine = import_module(f"{name}.engine").ENGINE
    return engine


def get(kind: str) -> Engine:
    """The engine of that kind; raises LookupError where there is none that is launched."""
    engine = read(kind)
    if not isinstance(engine, Engine):
        raise LookupError(f"{engine.title} is not launched: its logs are read")
    return engine


def of_distribution(name: str) -> Installable:
    """The engine that is distributed under this name, or the router of one; raises LookupError with the names that there are."""
    engines = [get(kind) for kind in launched()]
    installed: list[Installable] = [*engines, *(engine.router for engine in engines if engine.router)]
    known = {distribution: each for each in installed for distribution in each.package.distributions}
    if name not in known:
        raise LookupError(", ".join(known))
    return known[name]
