"""Does a launch that is under way come to answer?"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.launch.failure import Failure
from orchestrator.launch.server import UnderWay
from orchestrator.plan.plan import Plan
from orchestrator.steps.step import Effects, Onward, Step, Work
from orchestrator.survey.journal import usual_seconds, was_healthy
from orchestrator.survey.survey import Survey

A_REPAIR = "where it fails its log is diagnosed, and the repair is planned from the root cause"


@dataclass(frozen=True)
class WatchStep(Step):
    """Follow the launch that was started just before, or `older`, which an earlier run started."""

    name = "watch"
    plan: Plan
    older: UnderWay | None = None

    @property
    def effects(self) -> Effects:
        waits = f"nothing: waits until it is healthy, at most {self.plan.playbook.ready_timeout} s"
        usual = usual_seconds(self.plan.survey.observed.journal)
        return Effects((waits,), seconds=usual, depends=A_REPAIR)

    @property
    def looks_back(self) -> bool:
        return self.older is not None

    def do(self, work: Work) -> Failure | Onward | None:
        if self.older is not None:
            work.follow(self.plan, self.older, past="older")
        return settled(work.attempt.until_ready(), ours=self.older is None)


def under_way(survey: Survey) -> UnderWay | None:
    """The last launch on the host as something to follow; None where there was none."""
    observed = survey.observed
    if observed.launch is None:
        return None
    served = observed.listens or was_healthy(observed.journal, observed.launch)
    return UnderWay(observed.launch, observed.log.path if observed.log else None, observed.endpoint, served)


def settled(failure: Failure | None, *, ours: bool) -> Failure | Onward | None:
    """A launch of an earlier run that was ended without a fault of its own is no failure: it is started again."""
    return "fetch" if failure is not None and failure.silent and not ours else failure
