"""What is put together of a launch on several hosts that failed, nobody knows why?"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from orchestrator.base.bundle import Contents
from orchestrator.base.errors import DeployError, UsageError
from orchestrator.launch.packed import packed_together, part_of
from orchestrator.loop.acting import Acting
from orchestrator.loop.side_by_side import side_by_side
from orchestrator.loop.together import Fall
from orchestrator.plan.plan import Plan


def with_bundle(fall: Fall, hosts: Sequence[Acting], plans: Sequence[Plan]) -> Fall:
    """The same, its logs, facts, plans and diagnoses of all hosts in a bundle on this machine where no patch knows its cause: that
    may stand in the log of a host which said nothing of a failure. That of a host which serves alone was packed as it was followed."""
    if len(hosts) == 1 or fall.failure.diagnosis.finding is not None:
        return fall
    job = fall.acting.reading.job
    parts = side_by_side([partial(_part, fall, *host) for host in zip(hosts, plans, strict=True)])
    try:
        path = packed_together(job.name, fall.failure.launch, parts)
    except UsageError as error:  # what failed is to be told all the same
        job.report.emit("warning", error.message)
        return fall
    return replace(fall, failure=replace(fall.failure, bundle=str(path)))


def _part(fall: Fall, acting: Acting, plan: Plan) -> Contents:
    reading = acting.reading
    failure = next((failure for host, failure in fall.failures if host is acting), None)
    launch = failure.launch if failure else plan.survey.history.launch
    try:
        log = b"".join(reading.logs(launch=launch, lines=None, follow=False))
    except DeployError as error:  # the log of a host that is gone, or was not launched
        log = f"{error.message}\n".encode()
    diagnosis, dumps = (failure.diagnosis, failure.dumps) if failure else (None, ())
    return part_of(reading.job, plan, io.BytesIO(log), diagnosis, dumps, folder=reading.job.host.name)
