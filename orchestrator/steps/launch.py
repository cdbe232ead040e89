"""What is started on the host?"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.launch.server import Server
from orchestrator.on_host.kinds import registry
from orchestrator.plan.plan import Plan
from orchestrator.steps.patch import DEADLINE_SECONDS
from orchestrator.steps.step import Effects, Stage, Step, Work


@dataclass(frozen=True)
class LaunchStep(Step):
    """Start the engine; it goes on without this program. Whose code it runs by consent goes on record first."""

    name = "launch"
    together = Stage.LAUNCH
    plan: Plan

    @property
    def effects(self) -> Effects:
        how = registry.KINDS[self.plan.launch_kind].description
        state = f"~/.local/state/deploy/{self.plan.playbook.instance}"
        return Effects(
            (f"start the engine {how}, log and identity in {state}",),
            files=(state,),
            starts=(" ".join(self.plan.options.argv[:3]),),
        )

    def do(self, work: Work) -> None:
        job, plan = work.job, self.plan
        work.require()
        if plan.trusted is not None:
            job.record(plan.trusted)
        with job.report.wait("start", "the engine's process", limit=DEADLINE_SECONDS):
            started = Server(job).start(plan)
        work.follow(plan, started, past="new")
