"""`deploy fleet PLAYBOOK --host A --host B --replicas N`: many replicas as one service."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from orchestrator.cli.options import SharedOptions, shared_options

if TYPE_CHECKING:
    from orchestrator.cli.on_fleet import OpenFleet

REPLICAS = click.option(
    "--replicas", type=click.IntRange(1, 999), metavar="N",
    help="how many; as many as there are where it is left out",
)  # fmt: skip


@click.group(
    epilog="Example:  deploy fleet plan kimi-k2.5 --host gpu7 --host gpu8 --replicas 4",
    subcommand_metavar="plan|config PLAYBOOK --host HOST [OPTIONS]",
    options_metavar="",
)
def fleet() -> None:
    """Many replicas of a playbook over hosts and their GPUs.

    Each replica is a deployment of its own, PLAYBOOK-1 to PLAYBOOK-N, on as many GPUs as the playbook spreads
    a layer over, and those lie together: on one NVLink island, PCIe switch or NUMA node.
    """


@fleet.command(epilog="Example:  deploy fleet plan kimi-k2.5 --host gpu7 --gpus 2 --replicas 4")
@shared_options
@REPLICAS
def plan(options: SharedOptions, replicas: int | None) -> int:
    """Show which replica goes to which host and cards; changes nothing.

    `deploy plan PLAYBOOK --name PLAYBOOK-N` with the settings of its row tells the rest of one.
    """
    from orchestrator.cli.on_fleet import on_fleet
    from orchestrator.fleet.placing import why
    from orchestrator.report.choose import width_of, write
    from orchestrator.report.fleet import places, places_json
    from orchestrator.report.json_lines import json_line

    def work(opened: OpenFleet) -> int:
        placed = opened.replicas(replicas)
        reasons = {replica.number: why(replica, opened.standing.rooms) for replica in placed}
        if options.json:
            click.echo(json_line(places_json(opened.name, placed, reasons)))
        else:
            write(places(opened.name, placed, reasons, width_of(sys.stdout)), sys.stdout)
        return 0

    return on_fleet(options, work, report_to=sys.stderr)


@fleet.command(
    epilog="Example:  deploy fleet config kimi-k2.5 --host gpu7 --replicas 4 --router haproxy > haproxy.cfg"
)
@shared_options
@REPLICAS
@click.option("--router", type=click.Choice(["haproxy", "nginx"]), required=True, help="whose configuration")
def config(options: SharedOptions, replicas: int | None, router: str) -> int:
    """Print the configuration of a proxy that stands before the replicas; changes nothing.

    It listens where the playbook does, and knows the replicas that are there, or the places that --replicas N would get.
    """
    from orchestrator.cli.on_fleet import on_fleet
    from orchestrator.fleet.configuration import FORMS, Front

    def work(opened: OpenFleet) -> int:
        playbook = opened.playbook
        front = Front(opened.name, playbook.listen, playbook.port, playbook.kind.server.health_path)
        click.echo(FORMS[router](front, opened.replicas(replicas)), nl=False)
        return 0

    return on_fleet(options, work, report_to=sys.stderr)
