"""What is true on this host, asked for all at once?"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, TypeVar, cast

from orchestrator import facts as room
from orchestrator.facts import gpus, pci
from orchestrator.facts.gpus import Gpu
from orchestrator.facts.source import Command, Fact, Query, Reply, Unknown, answer

T = TypeVar("T")


@cache
def usual() -> tuple[Fact[Any], ...]:
    """The FACT of each file in this folder that has one: what a plan is made from."""
    return _of(room.__name__, room.__path__)


@cache
def every() -> tuple[Fact[Any], ...]:
    """Those, and what only an examination asks for: importing these takes longer than a launch should wait."""
    from orchestrator.facts import examined

    return (*usual(), *_of(examined.__name__, examined.__path__))


def _of(package: str, path: Iterable[str]) -> tuple[Fact[Any], ...]:
    names = sorted(module.name for module in pkgutil.iter_modules(path) if not module.ispkg)
    modules = [import_module(f"{package}.{name}") for name in names]
    return tuple(module.FACT for module in modules if hasattr(module, "FACT"))


@dataclass(frozen=True)
class Facts:
    """What is known by the name of its fact, or why it is not; reading changed nothing on the host."""

    known: Mapping[str, object] = field(default_factory=dict)
    own: frozenset[int] = frozenset()
    """The processes of our own launch when the facts were read."""

    def of(self, fact: Fact[T]) -> T | Unknown:
        """What this fact was read as."""
        return cast("T | Unknown", self.known.get(fact.name, Unknown("not_asked", "it was not asked for")))

    @property
    def cards(self) -> tuple[Gpu, ...]:
        """The GPUs, none where they are not known."""
        known = self.of(gpus.FACT)
        return () if isinstance(known, Unknown) else known.gpus

    @property
    def without_gpus(self) -> bool:
        """Whether the host certainly has none: neither does nvidia-smi name one, nor is one on the bus."""
        cards, bus = self.of(gpus.FACT), self.of(pci.FACT)
        absent = isinstance(cards, Unknown) and cards.code in ("no_nvidia_smi", "no_devices")
        return absent and (isinstance(bus, Unknown) or not (pci.of_nvidia(bus) or pci.listed(bus, 0)))

    @property
    def compute_cap(self) -> str | None:
        """The lowest compute capability among the GPUs, "12.0"; None where one is not known."""
        listed = [card.compute_cap for card in self.cards]
        known = [text for text in listed if text is not None]
        if not known or len(known) < len(listed):
            return None
        return min(known, key=lambda text: [int(part) for part in text.split(".")])


def commands(query: Query, facts: Iterable[Fact[Any]] | None = None) -> dict[str, Command]:
    """What is run on the host, by the name of its fact; `facts` are all that the query is for unless they are named. The answer
    takes as long as the slowest one (at most 30 s)."""
    asked = {fact.name: fact.command(query) for fact in (_all(query) if facts is None else facts)}
    return {name: command for name, command in asked.items() if isinstance(command, Command)}


def read(replies: Mapping[str, Reply], query: Query, *, own: Iterable[int] = ()) -> Facts:
    """The answer as values; a fact that cannot be had is Unknown. `own` are the processes of our launch by then."""
    known = {fact.name: reading(fact, replies, query) for fact in _all(query)}
    for fact in _all(query):
        value = known[fact.name]
        if fact.beside is not None and not isinstance(value, Unknown):
            known[fact.name] = fact.beside(value, known)
    return Facts(known, frozenset(own))


def reading(fact: Fact[T], replies: Mapping[str, Reply], query: Query) -> T | Unknown:
    """What one fact is read as, before others judge it."""
    command = fact.command(query)
    if isinstance(command, Unknown):
        return command
    return fact.read(answer(replies[fact.name], by_line=fact.by_line), query)


def _all(query: Query) -> tuple[Fact[Any], ...]:
    if query.examined or not query.together:
        return every() if query.examined else usual()
    from orchestrator.facts.examined import network

    return (*usual(), network.FACT)
