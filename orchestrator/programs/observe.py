"""Which deployment is looked at, and how is it now?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.programs.listener import PortOwner
from orchestrator.programs.place import Endpoint
from orchestrator.programs.processes import NamedProcess
from orchestrator.programs.request import Request, Value, secret


class Member(NamedProcess):
    """A living process of a launch."""

    rss_bytes: int | None


class Processes(Value):
    """A launch's processes; `alive` is its supervisor's state, members may live on without it."""

    alive: bool
    pid: int | None
    started_at: str | None
    members: tuple[Member, ...]
    exit_code: int | None


class Log(Value):
    path: str
    bytes: int
    silent_seconds: float


class SharedMemory(Value):
    """What members hold in /dev/shm."""

    entries: int
    bytes: int


class Observation(Value):
    """Everything that can be told of a deployment in one round trip."""

    launch: int | None
    process: Processes | None
    command: Mapping[str, Any] | None
    """What was started, as its record says."""
    endpoint: Endpoint
    log: Log | None
    health: int | None
    models: tuple[str, ...]
    context: int | None
    """Tokens of one request, as the server itself says; None where it does not."""
    listener: PortOwner | None
    shm: SharedMemory
    journal: tuple[Mapping[str, Any], ...]
    """Of all machines that share the home folder."""
    turn: str | None
    """The word in the lock before anything else was looked at; None where somebody is at work."""
    machine: str
    boot_id: str
    state: str
    """The folder in which the deployment is kept."""


class Observe(Request[Observation]):
    """The launch that lives where `launch` is None, else the latest."""

    program = "observe"

    instance: str
    host: str
    port: int
    health_path: str | None
    """None: it answers no requests, and nothing is asked of it."""
    model: str | None
    api_key: str | None = secret(None)
    launch: int | None
