"""Which engines are on a host, ours and others', how large is each, and which deployments use it?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Any, Literal

from orchestrator.engines import registry
from orchestrator.facts import gpus, pci
from orchestrator.facts.examined import environments
from orchestrator.facts.examined.environments import Environment
from orchestrator.facts.gather import Facts, commands, reading
from orchestrator.facts.source import Fact, Package, Query, Unknown
from orchestrator.hosts.host import Host
from orchestrator.on_host.environments.place import ENGINES
from orchestrator.playbook.pinned import PinnedEngine
from orchestrator.programs.ask import ask
from orchestrator.programs.engines import EngineRooms, EngineUse, LookAtEngines
from orchestrator.programs.read_facts import ReadFacts

SECONDS = 60.0
"""How long each of the two looks may take."""
_BELOW_HOME = f"{ENGINES.removeprefix('~')}/"


@dataclass(frozen=True)
class EngineOnHost:
    """One release in one Python environment.

    `python` is the interpreter by which a playbook would use it; `bytes` what its folder takes of the disk, None where
    that is not known. `state` is as in `programs/engines.py`; what is not `ours` is always "whole": nobody looked into it.
    """

    engine: str
    version: str
    state: Literal["whole", "making", "half_made"]
    folder: str
    python: str
    ours: bool
    bytes: int | None
    used_by: tuple[EngineUse, ...] = ()

    @property
    def pin(self) -> str:
        return f"{self.engine}=={self.version}"

    def as_json(self) -> dict[str, Any]:
        uses = [
            {"deployment": use.deployment, "launch": use.launch, "alive": use.alive} for use in self.used_by
        ]
        return {**asdict(self), "used_by": uses}


@dataclass(frozen=True)
class EnginesOnHost:
    """All of them, ours first; `free_bytes` where ours lie. `without_gpus`: certain that no GPU is there."""

    host: str
    folder: str
    free_bytes: int
    engines: tuple[EngineOnHost, ...]
    without_gpus: bool
    unread: str = ""
    """Why the environments of others are not known; "" where they are."""

    def ours(self, pinned: PinnedEngine) -> EngineOnHost | None:
        """The engine of our own that is meant."""
        matching = (
            engine
            for engine in self.engines
            if engine.ours and engine.engine == pinned.name and pinned.version == engine.version
        )
        return next(matching, None)

    def as_json(self) -> dict[str, Any]:
        return {
            "host": self.host,
            "folder": self.folder,
            "free_bytes": self.free_bytes,
            "engines": [engine.as_json() for engine in self.engines],
            "unread": self.unread or None,
        }


def look(host: Host) -> EnginesOnHost:
    """Two round trips: where are environments with an engine, then how large and how used is each; changes nothing."""
    names = tuple(name for kind in registry.launched() for name in registry.get(kind).package.distributions)
    query = Query("~", package=Package(names, ""))
    facts: tuple[Fact[Any], ...] = (environments.FACT, gpus.FACT, pci.FACT)
    replies = ask(host, ReadFacts(commands=commands(query, facts)), deadline=SECONDS)
    known = Facts({fact.name: reading(fact, replies, query) for fact in facts})
    read = known.of(environments.FACT)
    listed = () if isinstance(read, Unknown) else read
    measured = tuple(sorted({_folder(environment) for environment in listed if _alone(environment)}))
    rooms = ask(host, LookAtEngines(measured=measured), deadline=SECONDS)
    return EnginesOnHost(
        host=host.name,
        folder=rooms.folder,
        free_bytes=rooms.free_bytes,
        engines=(*_ours(rooms), *_others(rooms, listed)),
        without_gpus=known.without_gpus,
        unread=read.reason if isinstance(read, Unknown) else "",
    )


def _ours(rooms: EngineRooms) -> tuple[EngineOnHost, ...]:
    engines = []
    for room in rooms.engines:
        pinned = PinnedEngine(room.engine, room.version)
        bin_folder = f"{room.folder}/environment/bin"
        engines.append(
            EngineOnHost(
                engine=room.engine,
                version=room.version,
                state=room.state,
                folder=room.folder,
                python=pinned.python,
                ours=True,
                bytes=room.bytes,
                used_by=_uses(rooms.uses, bin_folder),
            )
        )
    return tuple(engines)


def _others(rooms: EngineRooms, listed: Sequence[Environment]) -> tuple[EngineOnHost, ...]:
    return tuple(
        EngineOnHost(
            engine=environment.distribution.replace("_", "-"),
            version=environment.version,
            state="whole",
            folder=_folder(environment),
            python=environment.python,
            ours=False,
            bytes=rooms.measured.get(_folder(environment)),
            used_by=_uses(rooms.uses, f"{_folder(environment)}/bin"),
        )
        for environment in listed
        if not _folder(environment).startswith(f"{rooms.folder}/")
    )


def _uses(uses: Sequence[EngineUse], folder: str) -> tuple[EngineUse, ...]:
    return tuple(use for use in uses if use.folder == folder)


def _folder(environment: Environment) -> str:
    return str(PurePosixPath(environment.python).parent.parent)


def _alone(environment: Environment) -> bool:
    """Whether it is another's folder of its own: adding up all of /usr tells nobody anything."""
    folder = _folder(environment)
    return not folder.startswith("/usr") and not folder.endswith("/.local") and _BELOW_HOME not in folder
