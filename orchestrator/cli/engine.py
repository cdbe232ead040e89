"""`deploy engine install|list|remove`: the engines of a host, whoever deploys there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from orchestrator.cli import values
from orchestrator.cli.options import CONSENT, FOLDER, ReachedHosts, acting_options, reaching_options

if TYPE_CHECKING:
    from pathlib import Path
    from typing import TextIO

    from orchestrator.loop.engines import Engines
    from orchestrator.playbook.pinned import PinnedEngine

_SPEC = click.argument("spec", metavar="NAME==VERSION", callback=values.pinned)


@click.group(
    epilog="Example:  deploy engine install vllm==0.16.0 --host 10.1.230.174",
    subcommand_metavar="install|list|remove --host HOST [OPTIONS]",
    options_metavar="",
)
def engine() -> None:
    """Install, list or remove engines in environments of their own on a host.

    Several releases live side by side in ~/.local/share/deploy/engines; no other Python of the host is
    touched. A playbook uses one with `install: NAME==VERSION` of its engine.
    """


@engine.command(
    short_help="make an environment with one release of an engine",
    epilog="Example:  deploy engine install vllm==0.16.0 --host 10.1.230.174",
)
@_SPEC
@reaching_options
@click.option(
    "--index", "indexes", multiple=True, metavar="URL", callback=values.indexes,
    help="a package index that is searched before the host's own",
)  # fmt: skip
@click.option(
    "--wheels", metavar="DIR", type=FOLDER,
    help="a folder of wheels on this machine: they are sent, and without --index nothing else is asked",
)  # fmt: skip
@CONSENT
@click.option("--yes", "-y", is_flag=True, help="give the consent that it needs")
@acting_options
def install(
    reached: ReachedHosts,
    spec: PinnedEngine,
    indexes: tuple[str, ...],
    wheels: Path | None,
    consents: tuple[str, ...],
    yes: bool,
    dry_run: bool,
) -> int:
    """Make an environment with one release of an engine, by uv.

    It goes on by itself when the connection is lost or this command interrupted, and the same command joins it. It
    counts once the engine was imported there. On a host without a GPU the build for CPUs is taken.
    """
    from orchestrator.engines.registry import of_distribution
    from orchestrator.install.installation import Installation

    def work(engines: Engines) -> int:
        folder = str(wheels.absolute()) if wheels else None
        kind = of_distribution(spec.name)
        engines.install(Installation(spec, kind, indexes, folder), dry_run=dry_run)
        return 0

    return _on_each(reached, work, consents=(*consents, *(["install-engine"] if yes else [])))


@engine.command(
    "list",
    short_help="list the engines of a host, and who uses them",
    epilog="Example:  deploy engine list --host 10.1.230.174",
)
@reaching_options
def list_(reached: ReachedHosts) -> int:
    """List the engines of a host: version, place, size, which deployments use it.

    Ours first, then those in the Python environments of others, by the names of folders alone: nothing of theirs is run.
    """
    from orchestrator.report.choose import width_of, write
    from orchestrator.report.engines import engine_lines
    from orchestrator.report.json_lines import json_line

    def work(engines: Engines) -> int:
        there = engines.look()
        if reached.json:
            click.echo(json_line(there.as_json()))
        else:
            write(engine_lines(there, width_of(sys.stdout)), sys.stdout)
        return 0

    return _on_each(reached, work, report_to=sys.stderr)


@engine.command(
    short_help="take away an engine of our own",
    epilog="Example:  deploy engine remove vllm==0.16.0 --host 10.1.230.174",
)
@_SPEC
@reaching_options
@CONSENT
@acting_options
def remove(reached: ReachedHosts, spec: PinnedEngine, consents: tuple[str, ...], dry_run: bool) -> int:
    """Take away an engine of our own, and what of uv's cache only it used.

    Refused while a launch runs by it. Where it is what the last launch of a deployment was started by, the consent
    remove-used-engine is needed. Environments of others are never removed.
    """
    from orchestrator.engines.registry import of_distribution
    from orchestrator.install.installation import Installation

    def work(engines: Engines) -> int:
        engines.remove(Installation(spec, of_distribution(spec.name)), dry_run=dry_run)
        return 0

    return _on_each(reached, work, consents=consents)


def _on_each(
    reached: ReachedHosts,
    work: Callable[[Engines], int],
    *,
    consents: tuple[str, ...] = (),
    report_to: TextIO | None = None,
) -> int:
    """Carry `work` out on every host; what happens is told as in `session.on_each_host`."""
    from orchestrator.cli.asking import asker_of
    from orchestrator.cli.session import know_passwords
    from orchestrator.cli.several import side_by_side
    from orchestrator.report.choose import display

    know_passwords(reached.hosts)
    several = len(reached.hosts) > 1
    with display(
        report_to or sys.stdout, as_json=reached.json and report_to is None, hosts=len(reached.hosts)
    ) as shown:
        ask = asker_of(reached.hosts, shown, as_json=reached.json)

        def on(name: str) -> int:
            from orchestrator.base.events import Report
            from orchestrator.cli.session import CONNECT_SECONDS
            from orchestrator.cli.typed import reaching
            from orchestrator.hosts.connect import open_host
            from orchestrator.loop.engines import Engines

            report = Report(shown, name)
            way = reaching(name, reached.ssh_config)
            with report.wait("connect", f"to {name}", limit=CONNECT_SECONDS):
                opened = open_host(
                    name, ssh_config=reached.ssh_config, accept_host_keys=reached.accept_host_keys
                )
            with opened as host:
                return work(Engines(host, report, lambda verb: f"deploy engine {verb} {way}", consents, ask))

        if several:
            return side_by_side(reached.hosts, "", on, shown, as_json=reached.json, breadth=reached.breadth)
        return on(reached.hosts[0])
