"""Does the first completion come out of a launch that answers?"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.launch.failure import Failure
from orchestrator.plan.plan import Plan
from orchestrator.steps.step import Effects, Onward, Stage, Step, Work
from orchestrator.steps.watch import settled

GLANCE_SECONDS = 0.05
"""How long a launch that answers is looked at, each time, while the others of its group are waited for."""


@dataclass(frozen=True)
class SmokeStep(Step):
    """`ours`: this run started the launch."""

    name = "smoke"
    together = Stage.COMPLETION
    plan: Plan
    ours: bool = True

    @property
    def effects(self) -> Effects:
        return Effects((asking(self.plan),))

    def meanwhile(self, work: Work) -> Failure | Onward | None:
        return settled(work.attempt.outlive(GLANCE_SECONDS), ours=self.ours)

    def do(self, work: Work) -> Failure | Onward | None:
        end = settled(work.attempt.prove(), ours=self.ours)
        work.context = work.attempt.context
        return end


def asking(plan: Plan) -> str:
    """What a completion that is asked for takes of the engine."""
    return f"one completion of at most {plan.playbook.smoke.max_tokens} tokens"
