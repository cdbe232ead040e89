"""`deploy stop PLAYBOOK --host H`: end the launch and clean what it left."""

from __future__ import annotations

import click

from orchestrator.cli.options import Options, shared_options


@click.command(epilog="Example:  deploy stop kimi-k2.5 --host 10.1.230.174")
@shared_options
def stop(options: Options) -> int:
    """End the launch with every process of its own, remove its shared memory, wait for the GPUs' memory.

    Processes and files of others are never touched.
    """
    from orchestrator.cli.session import on_each_host
    from orchestrator.deployment import Deployment

    def work(deployment: Deployment) -> int:
        deployment.stop()
        return 0

    return on_each_host(options, work)
