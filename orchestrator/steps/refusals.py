"""What forbids the steps of a verb?"""

from __future__ import annotations

from orchestrator.base.errors import BudgetSpent, DeployError, PreflightRefused
from orchestrator.job import Job
from orchestrator.plan.plan import Plan
from orchestrator.steps.step import Onward
from orchestrator.survey.journal import History


def refusals(job: Job, plan: Plan, *, counted: bool) -> tuple[DeployError, ...]:
    """What the host and the plan forbid, and, where a launch of this incident is `counted`, its budget."""
    budget = spent(job, plan.survey.history) if counted else None
    return (*plan.refusals, budget) if budget else plan.refusals


def still_absent(job: Job, plan: Plan, begin: Onward | None) -> tuple[PreflightRefused, ...]:
    """What ends a run whose installation went well, and whose engine is not seen on the host all the same."""
    if begin != "installed" or plan.installs is None:
        return ()
    reason = f"{job.host.name}: {plan.installs} was installed, and {plan.installs.python} is not there"
    look = f"ls -l {plan.installs.folder}  # on {job.host.name}"
    return (PreflightRefused("engine_absent", reason, next_command=look),)


def taken(job: Job, history: History) -> tuple[PreflightRefused, ...]:
    """What forbids anything under a name that the deployment of another playbook has: its launches would be ended as if
    they were this one's, its patches taken over."""
    if history.playbook in (None, job.playbook.name):
        return ()
    return (
        PreflightRefused(
            "name_taken",
            f"{job.host.name}: {job.name} is the name of a deployment of {history.playbook}, of which launch "
            f"{history.launch} is on record; {job.playbook.name} needs another (--name)",
        ),
    )


def spent(job: Job, history: History) -> BudgetSpent | None:
    """What forbids another launch; None where there is one left."""
    if history.attempts < job.limits.max_attempts:
        return None
    cause = history.outcome.cause if history.outcome else ""
    return BudgetSpent(
        "attempts_spent",
        f"{job.host.name}: {history.attempts} launches of this incident are spent (--max-attempts "
        f"{job.limits.max_attempts}); the last cause: {cause or 'not known'}",
    )
