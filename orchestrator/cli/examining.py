"""How is a host examined for `deploy doctor`, and what is shown of it?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from orchestrator.cli.options import SharedOptions

if TYPE_CHECKING:
    from collections.abc import Collection

    from orchestrator.base.events import Report
    from orchestrator.checks.check import Check, Grade
    from orchestrator.facts.saved import Saved
    from orchestrator.facts.source import Query
    from orchestrator.hosts.host import Host
    from orchestrator.plan.collective import Measured
    from orchestrator.playbook.playbook import Playbook

REFUSED = 4


def playbook_of(options: SharedOptions) -> Playbook | None:
    if not options.playbook:
        return None
    from orchestrator.cli.session import find_playbook

    return find_playbook(options)


def _query(playbook: Playbook | None) -> Query:
    """What the playbook asks of a host; without one the home folder, and no Python by name."""
    from orchestrator.engines import registry
    from orchestrator.facts.source import Query

    if playbook is None:
        return Query("~", package=registry.get(registry.USUAL).package)
    from orchestrator.survey.survey import query_of

    return query_of(playbook)


def opened(name: str, options: SharedOptions, report: Report) -> Host:
    """A connection to a host that is to be examined."""
    from orchestrator.cli.session import CONNECT_SECONDS
    from orchestrator.hosts.connect import open_host

    with report.wait("connect", f"to {name}", limit=CONNECT_SECONDS):
        return open_host(name, ssh_config=options.ssh_config, accept_host_keys=options.accept_host_keys)


def examined(host: Host, playbook: Playbook | None, report: Report) -> Saved:
    """All facts of a host."""
    from datetime import datetime, timezone

    from orchestrator.facts.saved import Saved
    from orchestrator.survey.examination import EXAMINATION_SECONDS, examine

    query = _query(playbook)
    host.other_python = query.engine_python
    with report.wait("look at", "the whole host", limit=EXAMINATION_SECONDS):
        facts = examine(host, query)
    return Saved(host.name, datetime.now(timezone.utc).isoformat(timespec="seconds"), facts)


def launched(host: Host, playbook: Playbook | None) -> frozenset[int]:
    """The pids of the launch of this playbook that lives there."""
    if playbook is None:
        return frozenset()
    from orchestrator.programs.ask import ask
    from orchestrator.programs.leftovers import Leftovers

    living = ask(host, Leftovers(instance=playbook.instance))
    return frozenset(process.pid for process in living.processes) if living else frozenset()


def show(
    saved: Saved,
    options: SharedOptions,
    more: tuple[Check, ...] = (),
    measured: Measured | None = None,
    ours: Collection[int] = (),
) -> int:
    from dataclasses import asdict

    from orchestrator.checks.checks import checks, verdict
    from orchestrator.facts.saved import as_json
    from orchestrator.report.checks_text import SIGNS, check_lines
    from orchestrator.report.choose import width_of, write
    from orchestrator.report.crowd import FEW
    from orchestrator.report.json_lines import json_line

    playbook = playbook_of(options)
    listed = (*checks(saved.facts, playbook.engine.pinned if playbook else None, ours), *more)
    worst = verdict(listed)
    if options.json:
        judged = {"verdict": worst, "checks": list(map(asdict, listed))}
        speed = {} if measured is None else {"collective": measured.as_json()}
        click.echo(json_line({**as_json(saved), **judged, **speed}))
    else:
        shown: Collection[Grade] = ("fail",) if len(options.hosts) > FEW else tuple(SIGNS)
        write(check_lines(saved.host, listed, width_of(sys.stdout), shown), sys.stdout)
    return REFUSED if worst == "fail" else 0
