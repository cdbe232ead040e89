"""`deploy history PLAYBOOK --host H`: what was done on this host?"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from orchestrator.cli.options import SharedOptions, shared_options

if TYPE_CHECKING:
    from orchestrator.loop.deployment import Deployment
    from orchestrator.programs.journal import JournalRecord


@click.command(epilog="Example:  deploy history kimi-k2.5 --host 10.1.230.174")
@shared_options
def history(options: SharedOptions) -> int:
    """Show what was done on the host, oldest first: launches, how they ended, patches, stops.

    The journal on the host is what every repair is decided from; this is all of it. With --json each record is
    one object on a line. Of hosts that serve one model together a row is what they did together.
    """
    from orchestrator.cli.session import on_each_host
    from orchestrator.loop.group_reading import histories
    from orchestrator.on_host.secrets.secrets import redacted
    from orchestrator.programs.journal import read
    from orchestrator.report.alike import in_order

    journals: dict[str, list[JournalRecord]] = {}
    title, together = "", False

    def work(deployment: Deployment) -> None:
        nonlocal title, together
        job = deployment.readings[0].job
        title, together = job.name, bool(job.group)
        for host, records in histories(deployment.readings, deployment.absent).items():
            journals[host] = [read(redacted(record.as_json())) for record in records]

    code = on_each_host(
        options, work, report_to=sys.stderr, whole=True, as_far_as_reached=True, needs_patches=False
    )
    _show(title, in_order(journals, options.hosts), together=together, as_json=options.json)
    return code


def _show(
    title: str, journals: Mapping[str, Sequence[JournalRecord]], *, together: bool, as_json: bool
) -> None:
    from orchestrator.report import histories
    from orchestrator.report.alike import named
    from orchestrator.report.choose import width_of, write
    from orchestrator.report.history import table
    from orchestrator.report.json_lines import json_line
    from orchestrator.report.layout import passage, wrapped

    if as_json:
        for host, records in journals.items():
            for record in records:
                click.echo(json_line({"host": host, **record.as_json()}))
        return
    width = width_of(sys.stdout)
    done = {host: records for host, records in journals.items() if records}
    if together and done:
        where = f"{title} on {named(list(journals))}: of all of them where a row names none"
        heading = wrapped([], where, width, role="strong")
        write([*heading, *histories.table(journals, width)], sys.stdout)
        return
    for host, records in done.items():
        write([[(f"{title} on {host}", "strong")], *table(records, width)], sys.stdout)
    if idle := [host for host in journals if host not in done]:
        click.echo(passage(f"{title} on {named(idle)}: nothing was done yet"))
