"""Which patches are applied before a launch, and what do they change?"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.plan.change import Change
from orchestrator.plan.plan import Plan
from orchestrator.steps.step import Effects, Step, Work

DEADLINE_SECONDS = 30.0
"""How long one program on the host may take to answer (`Host.script`)."""


@dataclass(frozen=True)
class PatchStep(Step):
    """Apply changes in their order; `cause` is the root cause that a remedy answers."""

    name = "patch"
    plan: Plan
    changes: tuple[Change, ...]
    cause: str = ""

    @property
    def effects(self) -> Effects:
        words = tuple(f"{change.patch.id} ({change.why}): {change.action}" for change in self.changes)
        files = [f"{self.plan.folder}/{name}" for change in self.changes for name in change.file_diffs]
        return Effects(words or ("nothing",), files=tuple(dict.fromkeys(files)))

    def do(self, work: Work) -> None:
        from orchestrator.remedy import apply

        for change in self.changes:
            work.require()
            with work.job.report.step("patch", change.patch.id, limit=DEADLINE_SECONDS) as step:
                apply.apply(work.job, self.plan.folder, change, cause=self.cause)
                step.done = f"{change.patch.id} ({change.why}): {change.action}"
                step.data = {"patch": change.patch.id, "why": change.why, "diff": change.diff}
