"""Which deployments of this host use which Python environment?"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.on_host.files import sole_writer
from orchestrator.on_host.kinds import launches
from orchestrator.on_host.kinds.kind import Table
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.state import state


@dataclass(frozen=True)
class Use:
    """The last launch of a deployment, by the folder of the interpreter that it was started with.

    `alive` is None where that cannot be known: another machine with the same home folder, or a release that this one does
    not know, made it.
    """

    deployment: str
    launch: int
    alive: bool | None
    folder: str


def uses() -> Iterator[Use]:
    """The last launch of each deployment, and every other one that lives."""
    at = launches.table()
    for deployment in state.instances():
        try:
            known = state.known_folder(deployment)
        except Refusal:  # nothing there is believed
            continue
        numbers = launches.numbers(known)
        for number in numbers:
            alive = _alive(known, number, at)
            folder = _interpreter(known / "launches" / str(number))
            if folder and (alive or number == numbers[-1]):
                yield Use(deployment, number, alive, folder)


def deployed_now() -> frozenset[str]:
    """The deployments on which somebody is at work: what they are about to launch is on record only once it is."""
    names = set()
    for deployment in state.instances():
        with contextlib.suppress(Refusal):
            if sole_writer.held(state.known_folder(deployment) / "lock"):
                names.add(deployment)
    return frozenset(names)


def _alive(known: Path, number: int, at: Table) -> bool | None:
    try:
        launch = launches.load(known, number)
    except Refusal:
        return None
    return None if launch is None else bool(launches.members(launch, at))


def _interpreter(launch: Path) -> str | None:
    """The folder of the first word of its command, as it was written."""
    command = state.read_json(launch / "command.json")
    argv = command.get("argv") if isinstance(command, dict) else None
    first = argv[0] if isinstance(argv, list) and argv else None
    return (
        os.path.realpath(os.path.dirname(first)) if isinstance(first, str) and os.path.isabs(first) else None
    )
