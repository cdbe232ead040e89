"""What is a router to the rest of the house: a server that shares requests out among the replicas of a fleet?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.engines.distribution import Distribution
from orchestrator.facts.source import Package
from orchestrator.on_host.footprint import Footprint


@dataclass(frozen=True)
class Router:
    """One release of a router, installed as an engine of our own is, and how it is started and asked.

    `arguments` (behind its interpreter) start it at an address and port, with no replica yet. Paths of its HTTP: `alive_path`
    answers 200 once it listens, whatever it has behind it; `workers_path` lists the replicas that it has, which `workers` reads
    (by URL, whether it takes them for healthy; None for no such list); `admit` and `withdraw` are POSTed to for one of these
    URLs. What it answers to those two proves nothing: the list does.
    """

    name: str
    package: Package
    distribution: Distribution
    version: str
    log_name: str
    footprint: Footprint
    arguments: Callable[[str, int], Sequence[str]]
    alive_path: str
    workers_path: str
    workers: Callable[[str], Mapping[str, bool] | None]
    admit: Callable[[str], str]
    withdraw: Callable[[str], str]
