"""Which launch is followed, and what happens to it meanwhile?"""

from __future__ import annotations

from typing import Literal

from orchestrator.programs.listener import PortOwner
from orchestrator.programs.processes import NamedProcess
from orchestrator.programs.request import Request, Value, secret


class Running(Value):
    """It runs; the pid is its supervisor's, or its server's where that lives on alone."""

    process: Literal["running"]
    launch: int
    pid: int


class Health(Value):
    """The status of /health, None while nobody answers."""

    health: int | None


class Labour(Value):
    """What its processes have done so far: seconds of computing, bytes read from disks."""

    cpu_seconds: float
    read_bytes: int


class Beat(Value):
    """A sign of life, every two seconds; `waited` in seconds."""

    waited: float
    log_bytes: int
    work: Labour


class Answering(Value):
    """/health answers: `healthy` when /v1/models does too, `listed` when it names our model, `locked` when it asks for
    another key, `ours` when no other process answers on the port."""

    healthy: bool
    models: tuple[str, ...]
    listed: bool
    locked: bool
    ours: bool
    owner: PortOwner | None


class ServerGone(Value):
    """A server that answered is no longer there, though the supervisor is."""

    process: Literal["server_gone"]
    members: tuple[NamedProcess, ...]


class Exited(Value):
    """It has ended; the status is None where the supervisor could not record it, `members` live on without it."""

    exited: int | None
    log_bytes: int
    members: tuple[NamedProcess, ...]


WatchEvent = Running | Health | Beat | Answering | ServerGone | Exited


class FollowLaunch(Request[WatchEvent]):
    """`interval` is the seconds between two questions for health."""

    program = "watch"

    instance: str
    launch: int
    host: str
    port: int
    health_path: str | None
    """None: it answers no requests, and nothing is asked of it."""
    model: str | None
    api_key: str | None = secret(None)
    interval: float
