"""Which engines are there? Each is a folder beside this file, whose `engine.py` holds ENGINE."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from orchestrator import engines as room
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


def of_distribution(name: str) -> Engine:
    """The engine that is distributed under this name; raises LookupError with the names that there are."""
    known = {distribution: kind for kind in launched() for distribution in get(kind).package.distributions}
    if name not in known:
        raise LookupError(", ".join(known))
    return get(known[name])
