"""Which replicas of a fleet are on a host, with its router, and what has it for more of them?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.facts.source import Reply
from orchestrator.programs.addresses import Addresses
from orchestrator.programs.read_facts import ReadFacts
from orchestrator.programs.request import Request, Value


class Deployed(Value):
    """The last launch of a deployment, or the one that lives; `stopped`: a person has ended it; `command` is what was started, as its record says."""

    instance: str
    launch: int
    alive: bool
    stopped: bool
    command: Mapping[str, Any] | None


class DeployedReplicas(Value):
    deployments: tuple[Deployed, ...]
    addresses: Addresses
    facts: Mapping[str, Reply]


class ListReplicas(Request[DeployedReplicas]):
    program = "replicas"

    fleet: str
    facts: ReadFacts
