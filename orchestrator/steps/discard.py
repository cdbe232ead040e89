"""Which files that the engine could not read are not upstream's, and are fetched again?"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.plan.change import Change
from orchestrator.plan.plan import Plan
from orchestrator.steps.step import Effects, Step, Work


@dataclass(frozen=True)
class DiscardStep(Step):
    """Hash what the remedy names, and take away what is damaged."""

    name = "discard"
    plan: Plan
    change: Change

    @property
    def effects(self) -> Effects:
        names = self.change.redownloads
        return Effects(
            (f"take away what is damaged of {', '.join(names).replace('*', 'the shards')}",),
            files=tuple(f"{self.plan.folder}/{name}" for name in names),
            depends="which of them are damaged shows once they are hashed",
        )

    def do(self, work: Work) -> None:
        from orchestrator.remedy import carry_out

        work.require()
        carry_out.discard(work.job, self.plan.survey, self.change)
