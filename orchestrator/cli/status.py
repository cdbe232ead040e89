"""`deploy status PLAYBOOK --host H`: how is the deployment now?"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import SharedOptions, shared_options

if TYPE_CHECKING:
    from orchestrator.loop.deployment import Deployment
    from orchestrator.report.outcomes import HostEnd


@click.command(epilog="Example:  deploy status kimi-k2.5 --host 10.1.230.174")
@shared_options
def status(options: SharedOptions) -> int:
    """Show the last launch, its processes and shared memory, its health, and the patches in force.

    Hosts that serve one model together are told as one: healthy where every rank lives and completions can be asked for.
    Of several that serve each for itself a line each, the worst first; --host of one shows the rest of it.
    """
    from orchestrator.base.errors import HostError
    from orchestrator.cli.hints import for_group
    from orchestrator.cli.session import on_each_host
    from orchestrator.on_host.secrets.secrets import redacted
    from orchestrator.report import status, statuses
    from orchestrator.report.choose import width_of, write
    from orchestrator.report.json_lines import json_line

    several = len(options.hosts) > 1 and not options.json
    states: dict[str, Mapping[str, Any]] = {}

    def work(deployment: Deployment) -> int:
        together = bool(deployment.readings[0].job.group)
        if together:
            from orchestrator.loop import group_reading

            state = redacted(group_reading.status(deployment.readings, deployment.absent))
        else:
            state = redacted(deployment.reading.status())
        width = width_of(sys.stdout)
        if options.json:
            click.echo(json_line(state))
        elif together:
            write(status.group_table(state, width), sys.stdout)
        elif several:
            states[deployment.reading.job.host.name] = state
        else:
            whole = for_group(state["group"]["hosts"]) if state["group"] else ""
            write(status.table(state, width, whole=whole), sys.stdout)
        return HostError.exit_code if together and any("error" in host for host in state["hosts"]) else 0

    def closing(ends: Sequence[HostEnd]) -> None:
        write(statuses.table(states, ends, width_of(sys.stdout)), sys.stdout)

    return on_each_host(
        options, work, report_to=sys.stderr, whole=True, as_far_as_reached=True, needs_patches=False,
        closing=closing if several else None,
    )  # fmt: skip
