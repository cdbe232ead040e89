"""What is started as the engine, and what was?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.on_host.footprint import Footprint
from orchestrator.programs.request import Request, Value, secret


class Launched(Value):
    """The launch's number, the pid of its supervisor, its log's path, and when it began (host time)."""

    launch: int
    pid: int
    log: str
    started_at: str


class StartLaunch(Request[Launched]):
    """Secrets reach the engine's environment and are written nowhere; `unset` are names that it must not inherit, `kind` is
    how it is started and held, `gpu_at_most_mib` what may be in use on a GPU by its uuid: else HostError("no_room")."""

    program = "launch"

    instance: str
    playbook: str
    kind: str
    launch_id: str
    argv: tuple[str, ...]
    files: Mapping[str, str] = {}
    """Texts by name, for the launch's own folder."""
    environment: Mapping[str, str]
    secrets: Mapping[str, str] = secret({})
    unset: tuple[str, ...]
    token_consent: bool
    gpu_at_most_mib: Mapping[str, int]
    log_name: str
    footprint: Footprint
    """For the record, by which the launch is stopped."""
    note: Mapping[str, Any]
    """For the record."""
