"""`deploy doctor --host A --host B --as-one`: what would keep these hosts from serving one model together?"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

import click

from orchestrator.cli.examining import REFUSED, examined, launched, opened, playbook_of, show
from orchestrator.cli.options import SharedOptions

if TYPE_CHECKING:
    from orchestrator.checks.between.collective import MeasuredBetween
    from orchestrator.checks.between.group_check import GroupCheck
    from orchestrator.facts.saved import Saved
    from orchestrator.hosts.host import Host


def examine_as_one(options: SharedOptions, *, collective: bool) -> int:
    """Each host by itself, then all of them together; one that cannot be reached ends it."""
    from orchestrator.base.events import Report
    from orchestrator.cli.session import know_passwords
    from orchestrator.loop.examining import between
    from orchestrator.loop.side_by_side import side_by_side
    from orchestrator.report.choose import display

    know_passwords(options.hosts)
    playbook = playbook_of(options)
    with display(sys.stderr, as_json=False, hosts=len(options.hosts)) as shown, ExitStack() as stack:

        def look(name: str) -> tuple[Host, Saved, frozenset[int]]:
            report = Report(shown, name)
            host = stack.enter_context(opened(name, options, report))
            return host, examined(host, playbook, report), launched(host, playbook)

        seen = side_by_side([partial(look, name) for name in options.hosts])
        looked = [(host, saved) for host, saved, _ in seen]
        report = Report(shown, options.hosts[0])
        checks, measured = between(looked, playbook, report, collective=collective)
    codes = [show(saved, options, ours=ours) for _, saved, ours in seen]
    return max(*codes, _show(options, checks, measured))


def _show(options: SharedOptions, checks: tuple[GroupCheck, ...], measured: MeasuredBetween | None) -> int:
    from dataclasses import asdict

    from orchestrator.checks.checks import verdict
    from orchestrator.report.checks_text import check_lines
    from orchestrator.report.choose import width_of, write
    from orchestrator.report.json_lines import json_line

    worst = verdict(checks)
    if options.json:
        speed = {} if measured is None else {"collective": measured.as_json()}
        judged = {"verdict": worst, "checks": list(map(asdict, checks))}
        click.echo(json_line({"hosts": list(options.hosts), **judged, **speed}))
    else:
        write(check_lines(", ".join(options.hosts), checks, width_of(sys.stdout)), sys.stdout)
    return REFUSED if worst == "fail" else 0
