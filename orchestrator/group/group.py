"""Which hosts serve one deployment, and what is each of them for?"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.base.errors import DeployError
from orchestrator.job import Job


@dataclass(frozen=True)
class GroupHost:
    """One host of a group. Its role is a word for people; command, environment and readiness are its own playbook's."""

    role: str
    job: Job


@dataclass(frozen=True)
class Absent:
    """A host of a group that does not answer."""

    host: str
    role: str
    error: DeployError


@dataclass(frozen=True)
class Group:
    """1 to N hosts that are locked, launched, repaired and ended together, under one name."""

    name: str
    hosts: tuple[GroupHost, ...]
    absent: tuple[Absent, ...] = ()
    """Those of its hosts without which it is only looked at."""

    def __post_init__(self) -> None:
        places = {(host.job.host.name, host.job.name) for host in self.hosts}
        if not self.hosts or len(places) < len(self.hosts):
            raise ValueError(f"{self.name}: a group has hosts, each of them with a deployment of its own")

    @classmethod
    def of(cls, job: Job) -> Group:
        """A host that serves alone."""
        return cls(job.name, (GroupHost("", job),))
