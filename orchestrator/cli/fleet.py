"""`deploy fleet PLAYBOOK --host A --host B --replicas N`: many replicas as one service."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from orchestrator.base.limits import DRAIN_SECONDS
from orchestrator.cli import values
from orchestrator.cli.options import SharedOptions, acting_options, repairing_options, shared_options

if TYPE_CHECKING:
    from orchestrator.cli.on_fleet import OpenFleet
    from orchestrator.fleet.replica import Replica

REPLICAS = click.option(
    "--replicas", type=click.IntRange(1, 999), metavar="N",
    help="how many; as many as there are where it is left out",
)  # fmt: skip


class FleetVerbs(click.Group):
    """The verbs; a first word that is none of them is a playbook to bring up."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            if args[1:] and not any(word.startswith("-") for word in args[:2]):
                verbs = ", ".join(self.commands)
                ctx.fail(f"{args[0]!r} is no verb of a fleet ({verbs}), nor the only playbook")
            args = ["up", *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=FleetVerbs,
    epilog="Example:  deploy fleet kimi-k2.5 --host gpu7 --host gpu8 --replicas 4",
    subcommand_metavar="[COMMAND] PLAYBOOK --host HOST [OPTIONS]",
    options_metavar="",
)
def fleet() -> None:
    """Many replicas of a playbook over hosts and their GPUs, as one service.

    `deploy fleet PLAYBOOK --host A --host B --replicas N` brings them up behind a router, which listens on
    the first host where the playbook does. Each is a deployment of its own, PLAYBOOK-1 to PLAYBOOK-N, on as many
    GPUs as the playbook spreads a layer over, and those lie together: on one NVLink island, PCIe switch or NUMA node.
    """


@fleet.command(
    short_help="bring up so many replicas and the router (the default)",
    epilog="Example:  deploy fleet up kimi-k2.5 --host gpu7 --gpus 2 --replicas 4",
)
@shared_options
@REPLICAS
@click.option(
    "--router", type=click.Choice(["vllm-router", "none"]), default="vllm-router", show_default=True,
    help="what shares requests out",
)  # fmt: skip
@repairing_options
@acting_options
def up(
    options: SharedOptions,
    replicas: int | None,
    router: str,
    dry_run: bool,
    **wishes: Any,
) -> int:
    """Bring up so many replicas and the router before them; fewer than there are ends the last ones.

    The first comes up alone where none serves yet: what heals it is planned for the others. Then all come up
    side by side, each repaired by itself, and each is behind the router once a completion came out of it.
    """
    from orchestrator.cli.on_fleet import on_fleet

    def work(opened: OpenFleet) -> int:
        placed = opened.replicas(replicas)
        if dry_run:
            return _tell_places(opened, placed)
        from orchestrator.cli.fleet_run import FleetRun

        return FleetRun(opened).up(placed, router=router != "none", fail_fast=options.breadth.fail_fast)

    return on_fleet(options, work, report_to=sys.stderr if dry_run else None, **wishes)


@fleet.command(
    short_help="show which replica goes to which host and cards",
    epilog="Example:  deploy fleet plan kimi-k2.5 --host gpu7 --gpus 2 --replicas 4",
)
@shared_options
@REPLICAS
def plan(options: SharedOptions, replicas: int | None) -> int:
    """Show which replica goes to which host and cards; changes nothing.

    `deploy plan PLAYBOOK --name PLAYBOOK-N` with the settings of its row tells the rest of one.
    """
    from orchestrator.cli.on_fleet import on_fleet

    return on_fleet(
        options, lambda opened: _tell_places(opened, opened.replicas(replicas)), report_to=sys.stderr
    )


@fleet.command(
    short_help="show the router and every replica, and their requests",
    epilog="Example:  deploy fleet status kimi-k2.5 --host gpu7 --host gpu8",
)
@shared_options
def status(options: SharedOptions) -> int:
    """Show the router and every replica: whether it is healthy, behind the router, and how many requests it has."""
    from orchestrator.cli.on_fleet import on_fleet
    from orchestrator.report.choose import width_of, write
    from orchestrator.report.fleet import status_lines
    from orchestrator.report.json_lines import json_line

    def work(opened: OpenFleet) -> int:
        from orchestrator.cli.fleet_run import FleetRun

        state = FleetRun(opened).state()
        if options.json:
            click.echo(json_line(state))
        else:
            write(status_lines(state, width_of(sys.stdout)), sys.stdout)
        return 0

    return on_fleet(options, work, report_to=sys.stderr, whichever=True)


@fleet.command(
    short_help="show the end of the logs of all of them",
    epilog="Example:  deploy fleet logs kimi-k2.5 --host gpu7 --replica 2 -f",
)
@shared_options
@click.option("--replica", type=click.IntRange(1, 9999), metavar="N", help="of this one alone")
@click.option("--router", is_flag=True, help="of the router alone")
@click.option("-f", "--follow", is_flag=True, help="go on as the logs grow")
@click.option(
    "-n", "--lines", type=click.IntRange(0, 1_000_000), default=20, show_default=True, metavar="N",
    help="the last N lines of each",
)  # fmt: skip
def logs(options: SharedOptions, replica: int | None, router: bool, follow: bool, lines: int) -> int:
    """Print the end of the logs of all replicas and of the router, each line with the name of whose it is.

    `deploy logs PLAYBOOK --name PLAYBOOK-N` prints all of one, and with --explain says what is wrong with it.
    """
    from orchestrator.cli.fleet_logs import show
    from orchestrator.cli.on_fleet import on_fleet

    def work(opened: OpenFleet) -> int:
        return show(opened, replica, router=router, follow=follow, lines=lines)

    return on_fleet(options, work, report_to=sys.stderr, whichever=True)


@fleet.command(
    short_help="change all of them, one by one, without a lost request",
    epilog="Example:  deploy fleet restart kimi-k2.5 --host gpu7 --host gpu8 --set context=65536",
)
@shared_options
@click.option(
    "--min-ready", type=click.IntRange(0, 999), metavar="N",
    help="how many others are to serve while one is out; by default all of them",
)  # fmt: skip
@click.option(
    "--drain-timeout", type=values.Seconds(least=0.001), default=DRAIN_SECONDS, show_default=True, metavar="SECONDS",
    help="how long one may take to answer what it has",
)  # fmt: skip
@click.option(
    "--haproxy", "socket", metavar="SOCKET",
    help="have an HAProxy of your own drain them, by its admin socket on the first host",
)  # fmt: skip
@repairing_options
def restart(
    options: SharedOptions, min_ready: int | None, drain_timeout: float, socket: str | None, **wishes: Any
) -> int:
    """Start every replica anew by the playbook as it is now, one by one, so that no request is lost.

    Each is taken out of the router, has answered what it has, is stopped, started, proven by a completion and
    put back before the next. One that does not come up with the change goes back to what it was, and it ends there.
    """
    from orchestrator.cli.on_fleet import on_fleet
    from orchestrator.cli.session import by_the_host

    def work(opened: OpenFleet) -> int:
        from orchestrator.cli.fleet_run import FleetRun

        return FleetRun(opened).restart(min_ready, drain_timeout, haproxy=socket)

    return on_fleet(options, work, source=by_the_host, **wishes)


@fleet.command(
    short_help="bring back those that have fallen, touch no other",
    epilog="Example:  deploy fleet remediate kimi-k2.5 --host gpu7 --host gpu8",
)
@shared_options
@repairing_options
def remediate(options: SharedOptions, **wishes: Any) -> int:
    """Bring back the replicas that have fallen, and touch no other.

    The log of each is diagnosed first, and repaired by what it says; it is behind the router again once a completion
    came out of it. What was stopped stays so.
    """
    from orchestrator.cli.on_fleet import on_fleet
    from orchestrator.cli.session import by_the_host

    def work(opened: OpenFleet) -> int:
        from orchestrator.cli.fleet_run import FleetRun

        return FleetRun(opened).remediate(fail_fast=options.breadth.fail_fast)

    return on_fleet(options, work, source=by_the_host, whichever=True, **wishes)


@fleet.command(
    short_help="end the router, then every replica",
    epilog="Example:  deploy fleet stop kimi-k2.5 --host gpu7 --host gpu8",
)
@shared_options
def stop(options: SharedOptions) -> int:
    """End the router, then every replica with all that belongs to it."""
    from orchestrator.cli.on_fleet import on_fleet

    def work(opened: OpenFleet) -> int:
        from orchestrator.cli.fleet_run import FleetRun

        return FleetRun(opened).stop()

    return on_fleet(options, work, whichever=True)


@fleet.command(
    short_help="print the configuration of a proxy of your own",
    epilog="Example:  deploy fleet config kimi-k2.5 --host gpu7 --replicas 4 --router haproxy > haproxy.cfg",
)
@shared_options
@REPLICAS
@click.option("--router", type=click.Choice(["haproxy", "nginx"]), required=True, help="whose configuration")
def config(options: SharedOptions, replicas: int | None, router: str) -> int:
    """Print the configuration of a proxy that stands before the replicas; changes nothing.

    It listens where the playbook does, and knows the replicas that are there, or the places that --replicas N would get.
    Where there are none it needs --replicas.
    """
    from orchestrator.cli.fleet_run import there
    from orchestrator.cli.on_fleet import on_fleet
    from orchestrator.fleet.configuration import FORMS, Front

    def work(opened: OpenFleet) -> int:
        playbook = opened.playbook
        front = Front(opened.name, playbook.listen, playbook.port, playbook.kind.server.health_path)
        if replicas is None:
            there(opened)
        click.echo(FORMS[router](front, opened.replicas(replicas)), nl=False)
        return 0

    return on_fleet(options, work, report_to=sys.stderr)


def _tell_places(opened: OpenFleet, placed: tuple[Replica, ...]) -> int:
    from orchestrator.cli.typed import shareable
    from orchestrator.fleet.placing import why
    from orchestrator.report.choose import width_of, write
    from orchestrator.report.fleet import places, places_json
    from orchestrator.report.json_lines import json_line

    reasons = {replica.number: why(replica, opened.standing.rooms) for replica in placed}
    if opened.options.json:
        options = opened.options
        settings, environment = shareable("--set", options.settings), shareable("--env", options.env)
        click.echo(json_line(places_json(opened.name, placed, reasons, settings, environment)))
    else:
        write(places(opened.name, placed, reasons, width_of(sys.stdout)), sys.stdout)
    return 0
