"""What is asked in one round trip before anything is planned?"""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.facts.source import Reply
from orchestrator.programs.inspect_checkpoint import InspectCheckpoint, Inspected
from orchestrator.programs.observe import Observation, Observe
from orchestrator.programs.read_facts import ReadFacts
from orchestrator.programs.request import Request, Value


class Looked(Value):
    """The answers of the three programs."""

    checkpoint: Inspected
    launch: Observation
    facts: Mapping[str, Reply] | None = None


class Look(Request[Looked]):
    """The requests of the three programs; no facts are read where they are known."""

    program = "look"

    checkpoint: InspectCheckpoint
    launch: Observe
    facts: ReadFacts | None = None

    @property
    def private(self) -> bool:
        return self.launch.private
