"""`deploy logs PLAYBOOK --host H`: what does the last launch say?"""

from __future__ import annotations

import sys

import click

from orchestrator.cli.options import Options, shared_options


@click.command(epilog="Example:  deploy logs kimi-k2.5 --host 10.1.230.174 -f")
@shared_options
@click.option("-f", "--follow", is_flag=True, help="go on as the log grows")
@click.option(
    "-n", "--lines", type=click.IntRange(min=0), default=None, metavar="N", help="only the last N lines"
)
@click.option("--launch", type=click.IntRange(min=1), metavar="N", help="of this launch instead of the last")
def logs(options: Options, follow: bool, lines: int | None, launch: int | None) -> int:
    """Print the log of the last launch, byte for byte; with -f as it grows."""
    from orchestrator.cli.session import on_each_host
    from orchestrator.deployment import Deployment

    def work(deployment: Deployment) -> int:
        for chunk in deployment.logs(launch=launch, lines=lines, follow=follow):
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
        return 0

    return on_each_host(options, work)
