"""`deploy status PLAYBOOK --host H`: how is the deployment now?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from orchestrator.cli.options import SharedOptions, shared_options

if TYPE_CHECKING:
    from orchestrator.loop.deployment import Deployment


@click.command(epilog="Example:  deploy status kimi-k2.5 --host 10.1.230.174")
@shared_options
def status(options: SharedOptions) -> int:
    """Show the last launch, its processes and shared memory, its health, and the patches in force."""
    from orchestrator.cli.session import on_each_host
    from orchestrator.on_host.secrets.secrets import redacted
    from orchestrator.report.choose import width_of, write
    from orchestrator.report.json_lines import json_line
    from orchestrator.report.status import table

    def work(deployment: Deployment) -> int:
        state = redacted(deployment.reading.status())
        if options.json:
            click.echo(json_line(state))
        else:
            write(table(state, width_of(sys.stdout)), sys.stdout)
        return 0

    return on_each_host(options, work, report_to=sys.stderr)
