"""`deploy stop PLAYBOOK --host H`: end the launch and clean what it left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from orchestrator.cli.options import SharedOptions, acting_options, shared_options

if TYPE_CHECKING:
    from orchestrator.loop.deployment import Deployment
    from orchestrator.loop.reading import Reading


@click.command(epilog="Example:  deploy stop kimi-k2.5 --host 10.1.230.174")
@shared_options
@acting_options
def stop(options: SharedOptions, dry_run: bool) -> int:
    """End the launch with every process of its own, remove its shared memory, wait for the GPUs' memory.

    Processes and files of others are never touched.
    """
    from orchestrator.cli.session import on_each_host

    def work(deployment: Deployment) -> int:
        if dry_run:
            return would_stop(deployment.reading)
        deployment.stop()
        return 0

    return on_each_host(options, work, whole=not dry_run)


def would_stop(reading: Reading) -> int:
    """Say which processes a stop would end."""
    members = reading.ending().observed.members
    for member in members:
        text = f"would end pid {member.pid} ({member.name})"
        reading.job.report.emit("note", text, pid=member.pid)
    if not members:
        reading.job.report.emit(
            "note", "nothing of this deployment lives; a stop would only clean shared memory"
        )
    return 0
