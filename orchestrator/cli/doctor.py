"""`deploy doctor --host H`: what on this host would keep an engine from starting?"""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli import complete
from orchestrator.cli.examining import REFUSED, examined, launched, opened, playbook_of, show
from orchestrator.cli.options import FOLDER, SharedOptions, hosts_options

if TYPE_CHECKING:
    from typing import TypeAlias

    from orchestrator.base.events import Display
    from orchestrator.checks.check import Check
    from orchestrator.facts.saved import Saved
    from orchestrator.plan.collective import Measured
    from orchestrator.playbook.playbook import Playbook

    Examined: TypeAlias = "tuple[Saved, frozenset[int], tuple[Check, ...], Measured | None]"

VERDICTS = {0: "without a fault", REFUSED: "with a fault"}


@click.command(epilog="Example:  deploy doctor --host 10.1.230.174 --save gpu7.json")
@click.argument("playbook", required=False, shell_complete=complete.playbooks)
@hosts_options
@click.option(
    "--facts", metavar="FILE", shell_complete=complete.files, help="check what --save wrote, without a host"
)
@click.option("--save", metavar="FILE", shell_complete=complete.files, help="write the facts as JSON")
@click.option(
    "--collective",
    is_flag=True,
    help="measure an all-reduce of the GPUs, with the planned variables of NCCL and without: needs torch and idle GPUs; with a playbook it goes on record",
)
@click.option(
    "--as-one",
    is_flag=True,
    help="these hosts are to serve one model together: compare them too, and have each dial all others",
)
@click.option("--playbooks", multiple=True, type=FOLDER, help="a folder of playbooks of your own")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="override a playbook key")
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="one more environment variable")
@click.option(
    "--ssh-config", "-F", metavar="FILE", shell_complete=complete.files, help="instead of ~/.ssh/config"
)
@click.option(
    "--accept-host-key",
    "accept_host_keys",
    multiple=True,
    metavar="SHA256:...",
    help="trust this unknown host key, and remember it",
)
@click.option("--json", is_flag=True, help="one JSON object a host on standard output")
@click.option("-v", "--verbose", is_flag=True, help="show where an error came from")
def doctor(facts: str | None, save: str | None, collective: bool, **given: Any) -> int:
    """Check a host: GPUs, engine, disk, memory, links; changes nothing.

    With a playbook its own Python, folder and environment are asked. Each check says pass, warn, fail or not known,
    and the command on the host that mends it; of more than 8 hosts only what fails is shown. Leaves
    with 4 where something would keep an engine from starting.
    """
    from orchestrator.base.errors import UsageError

    options = SharedOptions(
        patches=(), engine_args=(), model_dir=None, name=None, engine_version=None, **given
    )
    if bool(options.hosts) == bool(facts):
        raise UsageError("invalid_option", "doctor takes --host HOST, or --facts FILE", verb="doctor")
    if save and len(options.hosts) != 1:
        raise UsageError("invalid_option", "--save takes the facts of one --host", verb="doctor")
    if facts and collective:
        raise UsageError("invalid_option", "--collective measures on a --host", verb="doctor")
    if options.as_one and len(options.hosts) < 2:
        raise UsageError("nodes_missing", "--as-one needs several hosts")
    if options.as_one:
        from orchestrator.cli.doctor_as_one import examine_as_one

        return examine_as_one(options, collective=collective)
    if facts:
        from orchestrator.cli.facts_file import load

        return show(load(facts), options)
    return _examine(options, save, collective=collective)


def _examine(options: SharedOptions, save: str | None, *, collective: bool) -> int:
    """Every host side by side; a host that cannot be reached takes no other with it."""
    from orchestrator.cli.session import know_passwords
    from orchestrator.cli.several import side_by_side
    from orchestrator.report.choose import display

    know_passwords(options.hosts)
    playbook = playbook_of(options)
    several = len(options.hosts) > 1
    speaking = threading.Lock()

    def look(name: str) -> int:
        saved, ours, more, measured = _read(name, options, playbook, shown, collective=collective)
        with speaking, shown.aside():
            if save:
                _write(save, saved)
            return show(saved, options, more, measured, ours)

    with display(sys.stderr, as_json=False, hosts=len(options.hosts)) as shown:
        if several:
            return side_by_side(
                options.hosts, "", look, shown,
                as_json=options.json, breadth=options.breadth, words=VERDICTS,
            )  # fmt: skip
        return look(options.hosts[0])  # in this thread, which an interrupt ends at once


def _read(
    name: str, options: SharedOptions, playbook: Playbook | None, shown: Display, *, collective: bool
) -> Examined:
    """The facts of a host, and what a collective test came to where one is asked for."""
    from orchestrator.base.events import Report

    report = Report(shown, name)
    with opened(name, options, report) as host:
        saved, ours = examined(host, playbook, report), launched(host, playbook)
        if not collective:
            return saved, ours, (), None
        from orchestrator.loop.collective import measure

        return saved, ours, *measure(host, saved, playbook, report)


def _write(name: str, saved: Saved) -> None:
    """For its owner alone: command lines and names of users are in it."""
    from orchestrator.base.errors import UsageError
    from orchestrator.facts.saved import as_json
    from orchestrator.report.json_lines import json_line

    try:
        with os.fdopen(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(json_line(as_json(saved)) + "\n")
    except (OSError, ValueError) as error:
        raise UsageError("facts_file", f"{name} cannot be written: {error}") from None
