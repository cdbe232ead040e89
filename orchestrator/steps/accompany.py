"""How is a launch followed that answers no requests, since it only computes for the head of its group?"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.launch.failure import Failure
from orchestrator.launch.server import UnderWay
from orchestrator.plan.plan import Plan
from orchestrator.steps.smoke import GLANCE_SECONDS
from orchestrator.steps.step import Effects, Onward, Stage, Step, Work
from orchestrator.steps.watch import A_REPAIR, settled


@dataclass(frozen=True)
class Rejoin(Step):
    """Follow `older`, which an earlier run started, as one that this run has started is."""

    name = "watch"
    plan: Plan
    older: UnderWay

    @property
    def effects(self) -> Effects:
        return Effects((f"nothing: follows launch {self.older.launch}",))

    @property
    def looks_back(self) -> bool:
        return True

    def do(self, work: Work) -> None:
        work.follow(self.plan, self.older, past="older")


@dataclass(frozen=True)
class Accompany(Step):
    """Watch its log and processes until a completion has come out of the head; `ours`: this run started the launch.

    It prints no word of being ready: it is as healthy as the completion that it computed a part of.
    """

    name = "watch"
    together = Stage.PROVEN
    plan: Plan
    ours: bool = True

    @property
    def effects(self) -> Effects:
        words = "nothing: its processes and log are watched until the head has answered"
        return Effects((words,), depends=A_REPAIR)

    def meanwhile(self, work: Work) -> Failure | Onward | None:
        work.tell_alongside()
        return settled(work.attempt.outlive(GLANCE_SECONDS), ours=self.ours)

    def do(self, work: Work) -> Failure | Onward | None:
        work.tell_alongside()
        end = settled(work.attempt.outlive(GLANCE_SECONDS), ours=self.ours)
        if end is None:
            work.attempt.vouched()
        return end
