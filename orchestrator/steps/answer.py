"""Does a launch that was proven healthy answer again, or is it broken?"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.launch import vigil
from orchestrator.launch.failure import Failure
from orchestrator.launch.server import UnderWay
from orchestrator.plan.plan import Plan
from orchestrator.steps.step import Effects, Onward, Step, Work
from orchestrator.steps.watch import A_REPAIR, settled


@dataclass(frozen=True)
class AnswerStep(Step):
    """Ask it again and again; nothing of it is ended on suspicion."""

    name = "answer"
    plan: Plan
    launch: UnderWay

    @property
    def effects(self) -> Effects:
        words = f"asks launch {self.launch.launch} until a completion comes out, or {vigil.COMPLETIONS} failed over {vigil.SECONDS:.0f} s"
        return Effects((words,), depends=A_REPAIR)

    def do(self, work: Work) -> Failure | Onward | None:
        work.follow(self.plan, self.launch, past="healthy")
        end = settled(work.attempt.ask_again(), ours=False)
        work.context = work.attempt.context
        return end
