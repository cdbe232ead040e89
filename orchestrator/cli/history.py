"""`deploy history PLAYBOOK --host H`: what was done on this host?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from orchestrator.cli.options import SharedOptions, shared_options

if TYPE_CHECKING:
    from orchestrator.loop.deployment import Deployment


@click.command(epilog="Example:  deploy history kimi-k2.5 --host 10.1.230.174")
@shared_options
def history(options: SharedOptions) -> int:
    """Show what was done on the host, oldest first: launches, how they ended, patches, stops.

    The journal on the host is what every repair is decided from; this is all of it. With --json each record is
    one object on a line.
    """
    from orchestrator.cli.session import on_each_host
    from orchestrator.on_host.secrets.secrets import redacted
    from orchestrator.programs.journal import read
    from orchestrator.report.choose import width_of, write
    from orchestrator.report.history import table
    from orchestrator.report.json_lines import json_line
    from orchestrator.report.layout import passage

    def work(deployment: Deployment) -> int:
        records = [redacted(record.as_json()) for record in deployment.reading.history()]
        if options.json:
            for record in records:
                click.echo(json_line({"host": deployment.reading.job.host.name, **record}))
            return 0
        title = f"{deployment.reading.job.name} on {deployment.reading.job.host.name}"
        if not records:
            click.echo(passage(f"{title}: nothing was done yet"))
            return 0
        write([[(title, "strong")], *table(map(read, records), width_of(sys.stdout))], sys.stdout)
        return 0

    return on_each_host(options, work, report_to=sys.stderr)
