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
    """Show the last launch, its processes and shared memory, its health, and the patches in force.

    Hosts that serve one model together are told as one: healthy where every rank lives and completions can be asked for.
    """
    from orchestrator.base.errors import HostError
    from orchestrator.cli.hints import for_group
    from orchestrator.cli.session import on_each_host
    from orchestrator.on_host.secrets.secrets import redacted
    from orchestrator.report.choose import width_of, write
    from orchestrator.report.json_lines import json_line
    from orchestrator.report.status import group_table, table

    def work(deployment: Deployment) -> int:
        together = bool(deployment.readings[0].job.group)
        state = redacted(deployment.status() if together else deployment.reading.status())
        width = width_of(sys.stdout)
        if options.json:
            click.echo(json_line(state))
        elif together:
            write(group_table(state, width), sys.stdout)
        else:
            whole = for_group(state["group"]["hosts"]) if state["group"] else ""
            write(table(state, width, whole=whole), sys.stdout)
        return HostError.exit_code if together and any("error" in host for host in state["hosts"]) else 0

    return on_each_host(options, work, report_to=sys.stderr, whole=True, as_far_as_reached=True)
