"""How are the logs of many replicas shown at once?"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import click

from orchestrator.base.errors import DeployError, UsageError
from orchestrator.cli.fleet_run import there

if TYPE_CHECKING:
    from orchestrator.cli.on_fleet import OpenFleet
    from orchestrator.loop.reading import Reading


def show(opened: OpenFleet, number: int | None, *, router: bool, follow: bool, lines: int) -> int:
    """Print the last lines of each log, each line whole and with its owner's name; an object a line with --json."""
    from orchestrator.loop.side_by_side import side_by_side

    readings = _readings(opened, number, router=router)
    width = max(len(reading.job.name) for reading in readings)
    turn = threading.Lock()

    def copy(reading: Reading) -> None:
        name, host = reading.job.name, reading.job.host.name
        for text in _lines(reading, lines, follow=follow):
            with turn:
                if opened.options.json:
                    value = {"event": "log", "host": host, "instance": name, "line": text}
                    click.echo(json.dumps(value).replace("\x7f", "\\u007f"))
                else:
                    sys.stdout.write(f"{name:<{width}} | {_shown(text)}\n")
                    sys.stdout.flush()

    side_by_side([partial(copy, reading) for reading in readings])
    return 0


def _readings(opened: OpenFleet, number: int | None, *, router: bool) -> list[Reading]:
    replicas = [replica for replica in there(opened) if number in (None, replica.number)]
    routing = None if number is not None else opened.routing(wanted=False)
    members = () if router else opened.members(replicas)
    readings = [
        *([routing.reading] if routing is not None else []),
        *(member.deployment.reading for member in members),
    ]
    if not readings:
        which = "router" if router else f"replica {number}"
        raise UsageError("no_replica", f"{opened.name} has no {which}")
    return readings


def _lines(reading: Reading, count: int, *, follow: bool) -> Iterator[str]:
    """The last lines of a log, as text; none of a replica that has no log."""
    from orchestrator.diagnosis.lines import cut

    try:
        for raw in cut(reading.logs(launch=None, lines=count, follow=follow)):
            yield raw.decode("utf-8", "replace").rstrip("\r\n")
    except DeployError as error:
        if error.code != "no_launch":
            raise


def _shown(text: str) -> str:
    from orchestrator.report.layout import passage

    return passage(text)
