"""Why did a launch end whose end nobody saw, or whose remedy nobody tried?"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.launch.failure import Failure
from orchestrator.launch.server import UnderWay
from orchestrator.plan.plan import Plan
from orchestrator.steps.step import Effects, Onward, Step, Work
from orchestrator.steps.watch import settled


@dataclass(frozen=True)
class Diagnose(Step):
    """Read its log to the end. What lives of it all the same is followed as any launch is."""

    name = "diagnose"
    plan: Plan
    launch: UnderWay

    @property
    def effects(self) -> Effects:
        return Effects(
            (f"nothing: reads the log of launch {self.launch.launch}",),
            depends="a fault in it is repaired first, as its root cause asks for",
        )

    @property
    def looks_back(self) -> bool:
        return True

    def do(self, work: Work) -> Failure | Onward:
        work.follow(self.plan, self.launch, past="older")
        return settled(work.attempt.until_ready() or work.attempt.prove(), ours=False) or "done"
