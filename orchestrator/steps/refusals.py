"""What forbids the steps of a verb?"""

from __future__ import annotations

from orchestrator.base.errors import BudgetSpent, DeployError
from orchestrator.job import Job
from orchestrator.plan.plan import Plan
from orchestrator.survey.journal import History


def refusals(job: Job, plan: Plan, *, counted: bool) -> tuple[DeployError, ...]:
    """What the host and the plan forbid, and, where a launch of this incident is `counted`, its budget."""
    forbidden = tuple(
        elsewhere(job, error) if error.code == "port_shared" else error for error in plan.refusals
    )
    budget = spent(job, plan.survey.history) if counted else None
    return (*forbidden, budget) if budget else forbidden


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


def elsewhere(job: Job, error: DeployError) -> DeployError:
    """The error of a port of ours on which somebody else's server answers, with what to type."""
    following = f"{job.stop_command}    (then up again with --set port=PORT)"
    return type(error)(error.code, error.message, next_command=following)
