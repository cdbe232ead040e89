"""What stands before the replicas of a fleet, as whoever changes them uses it?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.base.errors import LaunchFailed
from orchestrator.fleet.replica import Replica
from orchestrator.job import Job
from orchestrator.launch.server import SMOKE_SECONDS, Server, tokens
from orchestrator.on_host.ports.endpoint import parse_tokens
from orchestrator.playbook.endpoint import place_of
from orchestrator.programs.ask import ask
from orchestrator.programs.ask_server import AskServer

ASK_SECONDS = 10.0


@dataclass(frozen=True)
class Listed:
    """The replicas that it has by URL, and whether it sends requests to each; None where it does not answer."""

    workers: Mapping[str, bool] | None

    def admitted(self, replica: Replica) -> bool:
        return (self.workers or {}).get(replica.url, False)


class Balancer(ABC):
    """A router or a proxy, by its `title` in sentences."""

    title: str

    @property
    @abstractmethod
    def job(self) -> Job:
        """The fleet's, on the host of what stands before it and at the port of the service."""

    @abstractmethod
    def begin(self) -> None:
        """Have it up, with or without replicas; raises what keeps it from that."""

    @abstractmethod
    def end(self) -> None:
        """Stop it, where it is ours; what it passes on is cut off."""

    @abstractmethod
    def listed(self) -> Listed:
        """The replicas that it has."""

    @abstractmethod
    def admit(self, replica: Replica) -> None:
        """Have requests sent to it; raises LaunchFailed("not_admitted") where it is not taken for healthy."""

    @abstractmethod
    def withdraw(self, replica: Replica) -> None:
        """Have nothing sent to it any more; what it has been sent goes on. Raises LaunchFailed("not_withdrawn")."""

    @abstractmethod
    def keep(self, replicas: Sequence[Replica]) -> None:
        """Have nothing sent to any other address: who answers where a replica was once may be somebody else by now."""

    def prove(self) -> None:
        """Have a completion out of it, as clients do; raises LaunchFailed("no_completion_routed")."""
        place = place_of(self.job.playbook)
        with self.job.report.step("smoke", f"a completion through {self.title}", limit=SMOKE_SECONDS) as step:
            answer = Server(self.job).complete(place)
            if not answer.ok:
                reason = answer.error or f"status {answer.status}"
                message = f"{self.job.host.name}: {self.title} gives no completion: {reason}"
                raise LaunchFailed("no_completion_routed", message)
            step.done = tokens(answer)


def in_flight(job: Job) -> int | None:
    """How many requests a replica has, those that wait in it too; None where its metrics do not tell."""
    place = place_of(job.playbook)
    request = AskServer(host=place.host, port=place.port, path="/metrics", timeout=ASK_SECONDS)
    answer = ask(job.host, request)
    counts = [parse_tokens(answer.text, gauge) for gauge in job.playbook.kind.server.at_work]
    known = [count for count in counts if count is not None]
    return sum(known) if answer.status == 200 and known and len(known) == len(counts) else None
