"""How is a replica freed of requests, so that none is lost when it ends?"""

from __future__ import annotations

import time

from orchestrator.base.amounts import duration
from orchestrator.base.errors import BudgetSpent, DeployError
from orchestrator.fleet.replica import Replica
from orchestrator.job import Job
from orchestrator.loop.balancer import Balancer, in_flight

QUIET_SECONDS = 1.0
"""How long lies between two looks, and all in between, that see no request: one that the router sent before it let go of the
replica may be on its way."""
INTERVAL_SECONDS = 0.25


def drain(job: Job, replica: Replica, routing: Balancer, seconds: float) -> None:
    """Take it out of the router, and wait until it has no request any more.

    Where that takes longer than `seconds`, fails or is interrupted it is put back: it serves on as it was. Raises
    BudgetSpent("not_drained").
    """
    try:
        routing.withdraw(replica)
        _until_free(job, replica, seconds)
    except BaseException as error:
        try:
            routing.admit(replica)
        except DeployError as second:
            if isinstance(error, DeployError):
                error.message += f". Nor is it behind the router again: {second.message}"
        raise


def _until_free(job: Job, replica: Replica, seconds: float) -> None:
    with job.report.step("drain", "waiting for its requests", limit=seconds) as step:
        began, since = time.monotonic(), None
        while True:
            looked = time.monotonic()
            left = in_flight(job)
            since = None if left != 0 else looked if since is None else since
            if since is not None and looked - since >= QUIET_SECONDS:
                break
            if looked - began > seconds:
                raise _not_drained(replica, left, seconds)
            if left:
                step.progress(_requests(left), requests=left)
            time.sleep(INTERVAL_SECONDS)
        step.done = "no request left"


def _not_drained(replica: Replica, left: int | None, seconds: float) -> BudgetSpent:
    has = "does not tell how many requests it has" if left is None else f"still has {_requests(left)}"
    message = f"{replica.name} {has} after {duration(seconds)}: it serves on as it was"
    return BudgetSpent("not_drained", message)


def _requests(count: int) -> str:
    return f"{count} request{'' if count == 1 else 's'}"
