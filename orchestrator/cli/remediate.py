"""`deploy remediate PLAYBOOK --host H`: diagnose the last launch, patch, clean, relaunch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import SharedOptions, acting_options, repairing_options, shared_options

if TYPE_CHECKING:
    from orchestrator.job import Job
    from orchestrator.loop.deployment import Deployment
    from orchestrator.plan.change import Change


@click.command(epilog="Example:  deploy remediate kimi-k2.5 --host 10.1.230.174 --no-launch")
@shared_options
@repairing_options
@acting_options
@click.option("--no-launch", is_flag=True, help="apply the patch only: clean nothing, start nothing")
def remediate(options: SharedOptions, no_launch: bool, dry_run: bool, **wishes: Any) -> int:
    """Diagnose the last launch, patch, clean and relaunch; never downloads."""
    from orchestrator.cli.diff import show_differences
    from orchestrator.cli.plan import Plans
    from orchestrator.cli.session import by_the_host, on_each_host
    from orchestrator.report.alike import in_order

    plans = Plans(options)
    differences: dict[str, Sequence[Change]] = {}

    def work(deployment: Deployment) -> int:
        if dry_run:
            planned = deployment.planned("patch" if no_launch else "remediate")
            for reading, own in zip(deployment.readings, planned, strict=True):
                if not own.only_asks:
                    shown = (*own.plan.changes, *own.plan.skipped)  # by the plan itself
                    differences[reading.job.host.name] = [
                        change for change in reading.differences(own.plan) if change not in shown
                    ]
            return plans.take(deployment, planned)
        if not no_launch:
            deployment.remediate()
        elif not deployment.patch_only():
            job = deployment.readings[0].job
            job.report.emit("note", _nothing(job), changed=False)
        return 0

    code = on_each_host(options, work, source=by_the_host, whole=True, **wishes)
    show_differences(options, in_order(differences, options.hosts))
    plans.show()
    return code


def _nothing(job: Job) -> str:
    if forced := ", ".join(job.wishes.forced):
        return f"nothing to patch: the checkpoint is as {forced} leaves it"
    return "nothing to patch: no failure on record asks for it, none is certain here, no --patch given"
