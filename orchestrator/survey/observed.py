"""How does a deployment stand on a host: its last launch, and what was done before?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.hosts.host import Host
from orchestrator.playbook.endpoint import api_key, health_path, place_of
from orchestrator.playbook.playbook import Playbook
from orchestrator.programs.ask import ask
from orchestrator.programs.journal import JournalRecord, read
from orchestrator.programs.listener import PortOwner
from orchestrator.programs.observe import Log, Member, Observation, Observe, SharedMemory
from orchestrator.programs.place import Endpoint
from orchestrator.survey.journal import History, fold


@dataclass(frozen=True)
class Observed:
    """The deployment's last launch: its processes, log and health."""

    launch: int | None
    alive: bool
    members: tuple[Member, ...]
    exit_code: int | None
    command: Mapping[str, Any] | None
    log: Log | None
    health: int | None
    models: tuple[str, ...]
    context: int | None
    """Tokens of one request, as the server itself says; None where it does not."""
    listener: PortOwner | None
    endpoint: Endpoint
    """Where it was asked: the place of the launch that lives, else that of the playbook."""
    started_at: str | None
    shm: SharedMemory
    journal: tuple[JournalRecord, ...] = ()
    """What was done on this machine, oldest first."""
    turn: str | None = None
    """The word in the lock when this was seen (`on_host/state/turns.py`); None where somebody was at work."""
    place: tuple[str, str, str] = ("", "", "")
    """Machine, boot and state folder: the same for whoever looks, by whatever name they reach the host."""

    @property
    def serves(self) -> bool:
        """Whether our own living launch answers and lists its model."""
        return self.alive and self.health == 200 and self.listens and self.endpoint.model in self.models

    @property
    def listens(self) -> bool:
        """Whether a process of it has the port."""
        return self.listener is not None and self.listener.ours


def observe(host: Host, playbook: Playbook, launch: int | None = None) -> tuple[Observed, History]:
    """The deployment as it is now, and its history, in one round trip."""
    return observed(ask(host, question(playbook, launch)))


def question(playbook: Playbook, launch: int | None = None) -> Observe:
    """What the host is asked about a deployment; of the launch that lives or else the last where none is named."""
    place = place_of(playbook)
    return Observe(
        instance=playbook.instance,
        host=place.host,
        port=place.port,
        model=place.model,
        api_key=api_key(playbook),
        health_path=health_path(playbook),
        launch=launch,
    )


def observed(observation: Observation) -> tuple[Observed, History]:
    """What the host saw, with the records of this machine alone, and what they add up to."""
    process = observation.process
    # a home folder shared between machines holds the records of all of them
    records = (record for record in observation.journal if record.get("machine") == observation.machine)
    now = Observed(
        launch=observation.launch,
        # The supervisor may be gone while the engine that it started still answers.
        alive=bool(process and process.alive) or bool(observation.listener and observation.listener.ours),
        members=process.members if process else (),
        exit_code=process.exit_code if process else None,
        command=observation.command,
        log=observation.log,
        health=observation.health,
        models=observation.models,
        context=observation.context,
        listener=observation.listener,
        endpoint=observation.endpoint,
        started_at=process.started_at if process else None,
        shm=observation.shm,
        journal=tuple(map(read, records)),
        turn=observation.turn,
        place=(observation.machine, observation.boot_id, observation.state),
    )
    return now, fold(now.journal)
