"""Is the checkpoint whole on the host?"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Literal

from orchestrator.plan.plan import Plan
from orchestrator.steps.step import Effects, Onward, Step, Work

Onset = Literal["fetch", "fetched", "refuse"]
"""What is broken is fetched again; was fetched just now, so that fetching it again mends nothing; or is not to be
fetched by this command."""


@dataclass(frozen=True)
class VerifyStep(Step):
    """Judge every shard by the index and its header."""

    name = "verify"
    plan: Plan
    broken: Onset

    @property
    def effects(self) -> Effects:
        words = ("nothing: reads the index and every shard's header",)
        return Effects(words, depends="what is broken is fetched again" if self.broken == "fetch" else "")

    def do(self, work: Work) -> Onward | None:
        from orchestrator.download.fetch import fetch
        from orchestrator.download.verdict import broken, judge

        job, survey = work.job, self.plan.survey
        verdict = judge(job, survey, deep=False)
        if verdict.whole:
            return None
        if self.broken == "fetch":
            work.require()
            fetch(job, survey, work.proceed)
            return "verify"
        raise broken(job, survey, verdict, next_command=self._next(work, verdict.bad[0].file))

    def _next(self, work: Work, name: str) -> str | None:
        if self.broken == "refuse" and self.plan.playbook.model.repository is not None:
            return None
        path = f"{self.plan.folder}/{name if name.isprintable() else ''}"
        return f"ls -l {shlex.quote(path)}  # on {work.job.host.name}"
