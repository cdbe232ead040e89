"""Which replicas of a fleet are on a host, and its router?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.programs.request import Request, Value


class Deployed(Value):
    """The last launch of a deployment, or the one that lives; `command` is what was started, as its record says."""

    instance: str
    launch: int
    alive: bool
    command: Mapping[str, Any] | None


class DeployedReplicas(Value):
    deployments: tuple[Deployed, ...]


class ListReplicas(Request[DeployedReplicas]):
    program = "replicas"

    fleet: str
