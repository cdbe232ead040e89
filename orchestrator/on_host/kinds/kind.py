"""What is a launch, and what does its kind answer for it: how is it started, held and ended?

A kind is a file of this room and a line in `registry.py`. The rules that hold for all kinds (nobody outlives a boot, the
marker, descent, what was seen, whoever asks is spared) are in `launches.py`: a kind adds what it alone can tell.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from orchestrator.on_host.footprint import Footprint
from orchestrator.on_host.processes import in_use, procs
from orchestrator.on_host.state import sightings
from orchestrator.on_host.state.state import read_json

HERE = "{launch}"
"""An item of a command, or its first part, that stands for the launch's own folder: nobody knows its number before."""


@dataclass(frozen=True)
class EngineCommand:
    """What is started, and in which folder.

    `inherited` is the environment of whoever deploys here, `own` what the launch adds to it or sets otherwise: its
    secrets and its marker too, so that neither may stand in argv.
    """

    argv: tuple[str, ...]
    inherited: Mapping[str, str]
    own: Mapping[str, str]
    folder: str


@dataclass(frozen=True)
class ExitRecord:
    """What is on record of an engine's end: 128 + N for one ended by signal N, 127 for none found, None for what cannot
    be read; and when that was recorded (seconds since 1970)."""

    status: int | None
    at: float


@dataclass(frozen=True)
class Table:
    """The processes of one moment with what tells whose they are."""

    boot_id: str
    processes: Mapping[int, procs.Process]
    markers: Mapping[int, str]
    outputs: Callable[[int], Collection[str]]
    """Asked of the few that nothing else tells of."""
    own_pid: int

    @property
    def living(self) -> dict[int, procs.Process]:
        return {pid: process for pid, process in self.processes.items() if process.alive}


class Kind(Protocol):
    """How an engine is started so that it outlives the connection, is found again, and is ended.

    It leaves a supervisor: a process beside the engine by whose end the launch ends, and by then the exit status is on record.
    """

    name: str
    """As it stands on record: it stays what it is."""
    description: str
    """How it starts an engine, for a plan: "start the engine DESCRIPTION"."""

    def log(self, folder: Path, name: str) -> Path:
        """Where in a launch's folder the log of that name is: a regular file to which the engine's output is appended."""

    def start(self, command: EngineCommand, folder: Path, log: Path) -> dict[str, Any]:
        """Start it and return at once; gives what goes on record: `pid` and `start_time` of the supervisor, and what this
        kind needs later. Raises Refusal("cannot_start")."""

    def held(self, launch: Launch, at: Table, ours: Set[int]) -> Set[int]:
        """The living processes that it holds by means of its own, as a session or a control group; `ours` are the launch's
        without it. Whoever is named here is ended with the launch: a doubt leaves a process out."""

    def end(self, launch: Launch) -> ExitRecord | None:
        """How the engine ended, None where that is not on record."""

    def terminate(self, launch: Launch, heads: Collection[procs.Process]) -> None:
        """Ask members to end that have no member above them but the supervisor; each is asked once."""

    def kill(self, launch: Launch, members: Collection[procs.Process]) -> Set[int]:
        """End these members, whatever they say to it; gives the pids of those that could be reached."""


@dataclass(frozen=True)
class Launch:
    """One start of the engine as `launches/N/process.json` records it.

    `pid` and `start_time` are those of the supervisor; None when the launch was cut off before it was recorded. `seen`
    is what earlier looks saw of it.
    """

    number: int
    folder: Path
    kind: Kind
    marker: str
    boot_id: str
    pid: int | None
    start_time: int | None
    record: Mapping[str, Any]
    seen: sightings.Sightings = field(default_factory=sightings.Sightings)

    @property
    def log(self) -> Path:
        """What the engine printed; where a broken record does not tell, the log where its kind has one."""
        recorded = self.record.get("log")
        name = os.path.basename(recorded) if isinstance(recorded, str) else ""
        if name.endswith(".log"):
            return self.kind.log(self.folder, name)
        usual = self.kind.log(self.folder, "engine.log")
        return next(usual.parent.glob("*.log"), usual)

    @property
    def footprint(self) -> Footprint | None:
        """What its engine leaves on a host; None where an older release recorded it."""
        with contextlib.suppress(ValueError):
            return Footprint.of(self.record.get("footprint"))
        return None

    def shm_before(self, boot: str) -> frozenset[str] | None:
        """The names in /dev/shm when this launch began; None where that was in another boot."""
        names = self.record.get("shm_before")
        if not isinstance(names, list) or self.boot_id != boot:
            return None
        return frozenset(name for name in names if isinstance(name, str))

    def shm_held(self, boot: str) -> frozenset[in_use.File]:
        """The entries of /dev/shm that members were seen to hold, in this boot."""
        return self.seen.shm if self.boot_id == boot else frozenset()

    def adopters(self) -> frozenset[sightings.Identity] | None:
        """Who stood above the supervisor and may have adopted what its engine left behind; None where not on record."""
        with contextlib.suppress(TypeError, KeyError, ValueError):
            return sightings.pairs(self.record["adopters"])
        return None

    def command(self) -> dict[str, Any] | None:
        """What was started, as `on_host/programs/launch.py` wrote it; None where that is not on record."""
        command = read_json(self.folder / "command.json")
        sound = isinstance(command, dict) and isinstance(command.get("note"), (dict, type(None)))
        argv = command.get("argv") if sound else None
        return command if isinstance(argv, list) and all(isinstance(item, str) for item in argv) else None

    def exit_code(self) -> int | None:
        """The engine's exit status, None where it is not on record."""
        end = self.kind.end(self)
        return end.status if end else None

    def ended_at(self) -> float | None:
        """When the exit status was recorded (seconds since 1970)."""
        end = self.kind.end(self)
        return end.at if end else None
