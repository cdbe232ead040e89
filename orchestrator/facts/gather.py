"""What is true on this host, asked for all at once?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from orchestrator.facts import disk, engine, gpu_processes, gpus, machine, topology
from orchestrator.facts.disk import Disk
from orchestrator.facts.engine import Engine
from orchestrator.facts.gpu_processes import GpuProcess
from orchestrator.facts.gpus import Gpu, Gpus
from orchestrator.facts.machine import Machine
from orchestrator.facts.source import Command, Said, Unknown, answer
from orchestrator.facts.topology import Topology

T = TypeVar("T")
BY_LINE = ("machine", "disk")
"""Facts whose lines stand each by itself, so that what was said before the time was over counts."""


@dataclass(frozen=True)
class Facts:
    """Each fact, or why it is not known; reading them changed nothing on the host."""

    machine: Machine | Unknown
    disk: Disk | Unknown
    engine: Engine | Unknown
    gpus: Gpus | Unknown
    topology: Topology | Unknown
    no_p2p: tuple[tuple[int, int, str], ...] | Unknown
    """Pairs of GPUs that cannot reach each other's memory."""
    gpu_processes: tuple[GpuProcess, ...] | Unknown
    own: frozenset[int] = frozenset()
    """The processes of our own launch when the facts were read."""

    @property
    def cards(self) -> tuple[Gpu, ...]:
        """The GPUs, none where they are not known."""
        return () if isinstance(self.gpus, Unknown) else self.gpus.gpus

    @property
    def compute_cap(self) -> str | None:
        """The lowest compute capability among the GPUs, "12.0"; None where one is not known."""
        told = [card.compute_cap for card in self.cards]
        known = [text for text in told if text is not None]
        if not known or len(known) < len(told):
            return None
        return min(known, key=lambda text: [int(part) for part in text.split(".")])


def questions(
    *, engine_python: str | None, folder: str, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """What `on_host/read_facts.py` is to be asked; `~` in both is the home folder on the host.

    The answer takes as long as the slowest command (at most 30 s). `engine_python` None: the engine is not asked for.
    It is asked with the environment that it will be started with: PYTHONPATH decides what it finds.
    """
    commands: dict[str, Command] = {
        "machine": machine.COMMAND,
        "disk": disk.command(folder),
        "gpus": gpus.COMMAND,
        "topology": topology.COMMAND,
        "p2p": topology.P2P_COMMAND,
        "gpu_processes": gpu_processes.COMMAND,
    }
    if engine_python is not None:
        commands["engine"] = engine.command(engine_python, environment or {})
    asked = {
        name: {"argv": list(item.argv), "timeout": item.timeout, "environment": dict(item.environment)}
        for name, item in commands.items()
    }
    return {"commands": asked}


def read(told: Mapping[str, Any], *, engine_python: str | None, own: Iterable[int] = ()) -> Facts:
    """The answer as values; a fact that cannot be had is Unknown. `own` are the processes of our launch by then."""
    said = {name: answer(value, by_line=name in BY_LINE) for name, value in told.items()}
    if engine_python is None:
        found: Engine | Unknown = Unknown("not_asked", "no interpreter of an engine was named")
    else:
        found = engine.parse(said["engine"], engine_python)
    read_gpus = _read(gpus.parse, said["gpus"])
    links = _read(topology.parse, said["topology"])
    return Facts(
        machine=_read(machine.parse, said["machine"]),
        disk=_read(disk.parse, said["disk"]),
        engine=found,
        gpus=read_gpus,
        topology=_of_the_same_host(links, read_gpus),
        no_p2p=_read(topology.parse_p2p, said["p2p"]),
        gpu_processes=_read(gpu_processes.parse, said["gpu_processes"]),
        own=frozenset(own),
    )


def _read(parse: Callable[[Said], T | Unknown], said: Said | Unknown) -> T | Unknown:
    return said if isinstance(said, Unknown) else parse(said)


def _of_the_same_host(links: Topology | Unknown, read: Gpus | Unknown) -> Topology | Unknown:
    """A matrix of fewer or more GPUs than were queried is not this host's."""
    if isinstance(links, Unknown) or isinstance(read, Unknown) or links.gpus == len(read.gpus):
        return links
    return Unknown(
        "topology_unreadable", f"the matrix has {links.gpus} GPUs, the query named {len(read.gpus)}"
    )
