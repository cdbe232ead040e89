"""`deploy stop PLAYBOOK --host H`: end the launch and clean what it left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from orchestrator.cli.options import SharedOptions, acting_options, shared_options

if TYPE_CHECKING:
    from orchestrator.loop.deployment import Deployment
    from orchestrator.loop.reading import Reading
    from orchestrator.steps.clean import Clean


@click.command(epilog="Example:  deploy stop kimi-k2.5 --host 10.1.230.174")
@shared_options
@acting_options
@click.option("--part", is_flag=True, help="also where other hosts serve the model with this one")
def stop(options: SharedOptions, dry_run: bool, part: bool) -> int:
    """End the launch with every process of its own, remove its shared memory, wait for the GPUs' memory.

    Processes and files of others are never touched. Of hosts that serve one model together all are stopped, unless
    --part says otherwise: the rest would wait for the ranks that are gone.
    """
    from orchestrator.base.errors import HostError
    from orchestrator.cli.session import on_each_host

    def work(deployment: Deployment) -> int:
        if dry_run:
            for reading, ending in zip(deployment.readings, deployment.endings(part=part), strict=True):
                would_stop(reading, ending)
        else:
            deployment.stop(part=part)
        return 0

    try:
        return on_each_host(options, work, whole=True, words={0: "looked at" if dry_run else "stopped"})
    except HostError as error:
        if (
            error.code == "host_unreachable" and len(options.hosts) > 1 and not part
        ):  # of those that serve as one
            error.message += "; --part with the others alone ends what runs there"
        raise


def would_stop(reading: Reading, ending: Clean) -> None:
    """Say which processes a stop would end."""
    members = ending.observed.members
    for member in members:
        text = f"would end pid {member.pid} ({member.name})"
        reading.job.report.emit("note", text, pid=member.pid)
    if not members:
        reading.job.report.emit(
            "note", "nothing of this deployment lives; a stop would only clean shared memory"
        )
