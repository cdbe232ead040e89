"""What does a remedy clean besides the launch: caches, stale locks, memory that is on its way back?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.launch.failure import GpuBusy
from orchestrator.plan.change import Change
from orchestrator.plan.plan import Plan
from orchestrator.steps.step import Effects, Step, Work


@dataclass(frozen=True)
class CleanUp(Step):
    """Clean what the remedy of a failed `launch` names. Raises GpuBusy where memory was waited for and none came: another
    launch would only be refused again."""

    name = "clean"
    plan: Plan
    change: Change
    launch: int
    read: Mapping[str, str] = field(default_factory=dict)
    """What its patch read out of the failure, by name."""

    @property
    def effects(self) -> Effects:
        return Effects(tuple(f"clean up {name.replace('_', ' ')}" for name in self.change.cleanups))

    def do(self, work: Work) -> None:
        from orchestrator.remedy import carry_out

        work.require()
        short = carry_out.clean(work.job, self.plan, self.change.cleanups, self.read)
        if short is not None:
            raise GpuBusy(work.job.host.name, self.launch, short)
