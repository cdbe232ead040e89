"""Are there launches left for this incident?"""

from __future__ import annotations

from orchestrator.base.errors import BudgetSpent
from orchestrator.job import Job
from orchestrator.survey.journal import History


def spent(job: Job, history: History) -> BudgetSpent | None:
    """What forbids another launch; None where there is one left."""
    if history.attempts < job.limits.max_attempts:
        return None
    cause = history.outcome.cause if history.outcome else ""
    return BudgetSpent(
        "attempts_spent",
        f"{job.host.name}: {history.attempts} launches of this incident are spent (--max-attempts "
        f"{job.limits.max_attempts}); the last cause: {cause or 'not known'}",
        next_command=f"deploy stop {job.again}    (a new incident begins after it)",
    )
