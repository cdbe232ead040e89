"""`deploy remediate PLAYBOOK --host H`: diagnose the last launch, patch, clean, relaunch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import SharedOptions, acting_options, repairing_options, shared_options

if TYPE_CHECKING:
    from orchestrator.job import Job
    from orchestrator.loop.deployment import Deployment


@click.command(epilog="Example:  deploy remediate kimi-k2.5 --host 10.1.230.174 --no-launch")
@shared_options
@repairing_options
@acting_options
@click.option("--no-launch", is_flag=True, help="apply the patch only: clean nothing, start nothing")
def remediate(options: SharedOptions, no_launch: bool, dry_run: bool, **wishes: Any) -> int:
    """Diagnose the last launch, patch, clean and relaunch; never downloads."""
    from orchestrator.cli.diff import show_differences
    from orchestrator.cli.plan import show_plan
    from orchestrator.cli.session import by_the_host, on_each_host

    def work(deployment: Deployment) -> int:
        if dry_run:
            planned = deployment.reading.course("patch" if no_launch else "remediate")
            if not planned.only_asks:
                shown = (*planned.plan.changes, *planned.plan.skipped)  # by the plan itself
                differences = deployment.reading.differences(planned.plan)
                show_differences(
                    options,
                    deployment.reading.job.host.name,
                    [change for change in differences if change not in shown],
                )
            return show_plan(options, deployment.reading, planned)
        if not no_launch:
            deployment.remediate()
        elif not deployment.patch_only():
            job = deployment.readings[0].job
            job.report.emit("note", _nothing(job), changed=False)
        return 0

    return on_each_host(options, work, source=by_the_host, whole=not dry_run, **wishes)


def _nothing(job: Job) -> str:
    if forced := ", ".join(job.wishes.forced):
        return f"nothing to patch: the checkpoint is as {forced} leaves it"
    return "nothing to patch: no failure on record asks for it, none is certain here, no --patch given"
