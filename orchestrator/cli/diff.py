"""`deploy diff PLAYBOOK --host H`: the config patches that apply, as a unified diff."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import SharedOptions, repairing_options, shared_options

if TYPE_CHECKING:
    from orchestrator.loop.deployment import Deployment
    from orchestrator.plan.change import Change

DIFFERENCES = 10


@click.command(epilog="Example:  deploy diff kimi-k2.5 --host 10.1.230.174 | less")
@shared_options
@repairing_options
@click.option("--exit-code", is_flag=True, help="leave with 10 when there are differences")
def diff(options: SharedOptions, exit_code: bool, **wishes: Any) -> int:
    """Show what the patches that apply would change in the checkpoint's config files; changes nothing.

    A patch applies where the last launch failed for its reason, where its failure is certain, or where --patch
    names it. Where that cannot be judged (no GPU or no engine to ask) its diff is shown with a note.
    """
    from orchestrator.cli.session import on_each_host
    from orchestrator.report.layout import passage

    def work(deployment: Deployment) -> int:
        reading = deployment.reading
        plan = reading.course().plan
        changes = reading.differences(plan)
        show_differences(options, reading.job.host.name, changes)
        for remark in (*plan.by_name, *(each.sentence for each in plan.retired)):
            click.echo(passage(remark), err=True)
        if not changes:
            click.echo("no config patch applies", err=True)
        return DIFFERENCES if exit_code and any(change.diff for change in changes) else 0

    return on_each_host(options, work, report_to=sys.stderr, **wishes)


def show_differences(options: SharedOptions, host: str, changes: Sequence[Change]) -> None:
    """Print the diffs, the reasons beside them."""
    from orchestrator.report.json_lines import json_line
    from orchestrator.report.layout import passage

    if options.json:
        patches = [
            {"patch": change.patch.id, "why": change.why, "file": name, "diff": text}
            for change in changes
            for name, text in change.file_diffs.items()
        ]
        click.echo(json_line({"host": host, "patches": patches}))
    for change in changes:
        click.echo(passage(f"{change.patch.id}: {change.why} ({change.evidence})"), err=True)
        if not options.json:
            click.echo(passage(change.diff), nl=False)
