"""`deploy diff PLAYBOOK --host H`: the config patches that apply, as a unified diff."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
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
    Of several hosts a diff that is the same on them is shown once; of those that differ each names its hosts.
    """
    from orchestrator.cli.session import on_each_host
    from orchestrator.report.alike import in_order

    differences: dict[str, Sequence[Change]] = {}
    remarks: dict[str, tuple[str, ...]] = {}

    def work(deployment: Deployment) -> int:
        own: dict[str, Sequence[Change]] = {}
        for reading, planned in zip(deployment.readings, deployment.planned(), strict=True):
            host, plan = reading.job.host.name, planned.plan
            own[host] = reading.differences(plan)
            nothing = () if own[host] else ("no config patch applies",)
            remarks[host] = (*plan.by_name, *(each.sentence for each in plan.retired), *nothing)
        differences.update(own)
        return DIFFERENCES if exit_code and _any(own) else 0

    words = {0: "done", DIFFERENCES: "differ"}
    code = on_each_host(options, work, report_to=sys.stderr, whole=True, words=words, **wishes)
    show_differences(options, in_order(differences, options.hosts))
    _show_remarks(in_order(remarks, options.hosts))
    return code


def _any(differences: Mapping[str, Sequence[Change]]) -> bool:
    return any(change.diff for changes in differences.values() for change in changes)


def show_differences(options: SharedOptions, by_host: Mapping[str, Sequence[Change]]) -> None:
    """Print the diffs, what is the same on several hosts once, the reasons beside them."""
    from orchestrator.report.alike import alike, named
    from orchestrator.report.json_lines import json_line
    from orchestrator.report.layout import passage

    if options.json:
        for host, changes in by_host.items():
            click.echo(json_line({"host": host, "patches": _as_json(changes)}))
    groups = alike(
        by_host,
        lambda changes: tuple((each.patch.id, each.why, each.evidence, each.diff) for each in changes),
    )
    for hosts, changes in groups:
        if changes and len(by_host) > 1:
            where = f"{'the same ' if len(hosts) > 1 else ''}on {named(hosts)}:"
            # in front of a diff it is a line that whoever applies it skips
            click.echo(passage(where), err=options.json or len(groups) == 1)
        for change in changes:
            click.echo(passage(f"{change.patch.id}: {change.why} ({change.evidence})"), err=True)
            if not options.json:
                click.echo(passage(change.diff), nl=False)


def _as_json(changes: Sequence[Change]) -> list[dict[str, str]]:
    return [
        {"patch": change.patch.id, "why": change.why, "file": name, "diff": text}
        for change in changes
        for name, text in change.file_diffs.items()
    ]


def _show_remarks(by_host: Mapping[str, tuple[str, ...]]) -> None:
    from orchestrator.report.alike import alike, named
    from orchestrator.report.layout import passage

    for hosts, remarks in alike(by_host, tuple):
        whose = f"{named(hosts)}: " if len(hosts) < len(by_host) else ""
        for remark in remarks:
            click.echo(passage(f"{whose}{remark}"), err=True)
