"""`deploy rehearse PLAYBOOK`: the whole story on a host in a box on this machine."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.base.errors import DeployError, UsageError
from orchestrator.cli import complete
from orchestrator.cli.hints import command_for
from orchestrator.cli.options import FOLDER, SharedOptions
from orchestrator.cli.rehearse_intro import introduction, stand_ins

if TYPE_CHECKING:
    from orchestrator.loop.deployment import Deployment
    from orchestrator.rehearsal.box import Box
    from orchestrator.rehearsal.commanded import Pace
    from orchestrator.rehearsal.several import SeveralBoxes

HOST = "rehearsal"
FAULT_WIDTH = 18
MOST_NODES = 8
"""Each of them has a process for each of its cards."""


MOST_REPLICAS = 8
"""On two hosts with eight cards, two for each."""


def list_faults(context: click.Context, _: click.Parameter, value: str | None) -> str | None:
    """`--fault list` prints the faults of what is rehearsed, and ends; the options that say so are read before it (`is_eager`)."""
    if value != "list":
        return value
    from orchestrator.rehearsal import faults

    mode: faults.Mode = "fleet" if context.params["fleet"] else "nodes" if context.params["nodes"] else "one"
    for name in faults.of(mode):
        fault = faults.load()[name]
        head = f"{name:<{FAULT_WIDTH}} exit {fault.exit}  "
        click.echo(textwrap.fill(fault.title, 80, initial_indent=head, subsequent_indent=" " * len(head)))
    for words, options in (faults.OPTIONS[other] for other in faults.OPTIONS if other != mode):
        click.echo(f"of {words}: deploy rehearse {f'{options} ' if options else ''}--fault list", err=True)
    raise click.exceptions.Exit(0)


@click.command(
    epilog="""\b
Examples:
  deploy rehearse kimi-k2.5
  deploy rehearse kimi-k2.5 --fault shm-full
  deploy rehearse kimi-k2.5 --keep
  deploy rehearse kimi-k2.5 --nodes 2 --fault rank-dies
  deploy rehearse kimi-k2.5 --fleet 3 --fault replica-killed
"""
)
@click.argument("playbook", shell_complete=complete.playbooks)
@click.option("--fast", is_flag=True, help="take no pauses: the engine's log passes at once")
@click.option(
    "--fault",
    metavar="NAME",
    callback=list_faults,
    help="rehearse another failure; `--fault list` shows those of one host, with --nodes or --fleet theirs",
)
@click.option(
    "--nodes",
    type=click.IntRange(2, MOST_NODES),
    metavar="N",
    is_eager=True,
    help="spread the model over N hosts in boxes, as --as-one does",
)
@click.option(
    "--fleet",
    type=click.IntRange(2, MOST_REPLICAS),
    metavar="N",
    is_eager=True,
    help="N replicas behind a router, as `deploy fleet` has them, on two hosts in boxes",
)
@click.option("--keep", is_flag=True, help="leave the host up until Ctrl-C, and say how to reach it")
@click.option(
    "--engine",
    type=click.Choice(["stand-in", "vllm"]),
    default="stand-in",
    show_default=True,
    help="vllm: a real one on this processor, installed into a cache once (3.5 GB)",
)
@click.option(
    "--engine-python", metavar="FILE", help="the python of a vLLM that needs no GPU, for --engine vllm"
)
@click.option("--playbooks", multiple=True, type=FOLDER, help="a folder of playbooks of your own")
@click.option("--patches", multiple=True, type=FOLDER, help="a folder of patches of your own")
@click.option("--json", "as_json", is_flag=True, help="one JSON object a line on standard output")
def rehearse(
    playbook: str,
    fast: bool,
    fault: str | None,
    nodes: int | None,
    fleet: int | None,
    keep: bool,
    engine: str,
    engine_python: str | None,
    playbooks: tuple[Path, ...],
    patches: tuple[Path, ...],
    as_json: bool,
) -> int:
    """Deploy a playbook on a host in a box on this machine: no GPU, no root, no internet.

    An SSH server, a Hub, a small checkpoint, eight cards and an engine stand in for a real host; everything else is
    what `deploy up` does. The launch fails as it does on the real cards, is diagnosed, repaired and proven. All of it is
    gone afterwards.
    """
    from orchestrator.rehearsal.box import Box
    from orchestrator.rehearsal.boxes import Boxes
    from orchestrator.rehearsal.fleet_boxes import FleetBoxes

    if nodes and fleet:
        raise UsageError("invalid_option", "--nodes and --fleet are two rehearsals", verb="rehearse")
    python = None
    if engine == "vllm" or engine_python:
        if nodes or fleet:
            option = "--nodes" if nodes else "--fleet"
            raise UsageError("invalid_option", f"{option} is for the stand-in engine", verb="rehearse")
        python = engine_python or _real_engine(as_json)
    pace: Pace = "fast" if fast else "default"
    began = time.monotonic()
    _forget_hub_variables()
    try:
        with _ended_by_signals():
            box: Box | SeveralBoxes
            if fleet:
                box = FleetBoxes(playbook, replicas=fleet, fault=fault, pace=pace, folders=playbooks)
            elif nodes:
                box = Boxes(playbook, nodes=nodes, fault=fault, pace=pace, folders=playbooks)
            else:
                box = Box(playbook, fault=fault, pace=pace, engine_python=python, folders=playbooks)
            with box:
                _tell(as_json, "\n".join(introduction(box)), stand_ins=stand_ins(box), predict=False)
                code = _bring_up(box, patches, as_json, keep)
                if keep:
                    _keep(box, as_json)
                with _deaf():
                    box.closing.close()
    except KeyboardInterrupt:
        click.echo("deploy: interrupted; the rehearsal's host and all that ran on it are gone", err=True)
        return 130
    seconds = time.monotonic() - began
    gone = (
        "the hosts in the boxes and all that ran on them"
        if nodes or fleet
        else "the host in the box and all that ran on it"
    )
    text = f"rehearsed in {seconds:.1f}s; {gone} are gone"
    _tell(as_json, text, seconds=round(seconds, 2), exit_code=code)
    return code


def _bring_up(box: Box | SeveralBoxes, patches: tuple[Path, ...], as_json: bool, keep: bool) -> int:
    """`deploy up` as it is, on the host in the box, or what a person types for a fleet."""
    from orchestrator.base.limits import Limits
    from orchestrator.cli.main import tell
    from orchestrator.cli.session import on_each_host
    from orchestrator.rehearsal.boxes import Boxes
    from orchestrator.rehearsal.fleet_boxes import FleetBoxes

    options = SharedOptions(
        playbook=box.head.playbook.name,
        as_one=isinstance(box, Boxes),
        hosts=box.aliases,
        playbooks=(box.head.playbook_path.parent,),
        patches=patches,
        ssh_config=box.ssh_config,
        accept_host_keys=(),
        settings=(),
        engine_args=(),
        env=(),
        model_dir=None,
        name=None,
        engine_version=None,
        json=as_json,
        verbose=False,
    )

    limits = Limits(ready_seconds=box.ready_seconds)
    if isinstance(box, FleetBoxes):
        from orchestrator.cli.rehearse_fleet import FleetRehearsal

        return FleetRehearsal(box, options, limits, partial(_tell, as_json)).play()

    def work(deployment: Deployment) -> None:
        for reading in deployment.readings:
            reading.job = replace(reading.job, lasting=keep)
        deployment.up()

    try:
        return on_each_host(options, work, predict=False, limits=limits, whole=True)
    except DeployError as error:
        tell(error, as_json=as_json, host=box.head.alias if as_json and not options.as_one else "")
        return error.exit_code


def _keep(box: Box | SeveralBoxes, as_json: bool) -> None:
    """Leave the host up until the person has had enough."""
    from orchestrator.rehearsal.fleet_boxes import FleetBoxes

    words = shlex.join([box.head.playbook.name, *box.reach()])
    command = command_for(words)
    commands = [
        command("status"),
        f"{command('logs')} -f",
        *(command(verb) for verb in ("diff", "revert", "restart")),
    ]
    if isinstance(box, FleetBoxes):
        commands = [f"deploy fleet {verb} {words}" for verb in ("status", "logs", "restart")]
    commands += [f"ssh -F {shlex.quote(box.ssh_config)} {box.aliases[-1]} nvidia-smi topo -m"]
    lines = [
        "",
        f"the host{'s stay' if len(box.aliases) > 1 else ' stays'} up until Ctrl-C; try from another terminal:",
        *(f"  {line}" for line in commands),
    ]
    _tell(as_json, "\n".join(lines), commands=commands, ssh_config=box.ssh_config, reach=box.reach())
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        click.echo("", err=True)


def _real_engine(as_json: bool) -> str:
    from orchestrator.rehearsal import cpu_engine

    return cpu_engine.installed() or _install(as_json)


def _install(as_json: bool) -> str:
    from orchestrator.base.events import Report
    from orchestrator.rehearsal import cpu_engine
    from orchestrator.report.choose import display

    with display(sys.stdout, as_json=as_json) as shown:
        with Report(shown, HOST).step("engine", f"{cpu_engine.PACKAGE} into {cpu_engine.folder()}") as step:
            python = cpu_engine.install(step.progress)
            step.done = f"{cpu_engine.PACKAGE} installed; the next rehearsal finds it there"
        return python


def _tell(as_json: bool, text: str, **data: Any) -> None:
    from orchestrator.base.events import Report
    from orchestrator.report.choose import display

    with display(sys.stdout, as_json=as_json) as shown:
        Report(shown, HOST).emit("note", text, **data)


def _forget_hub_variables() -> None:
    """What leads a download elsewhere is not used in this process either."""
    from orchestrator.rehearsal.commanded import leads_elsewhere

    for name in list(filter(leads_elsewhere, os.environ)):
        del os.environ[name]


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """A closed terminal or a TERM ends the box as Ctrl-C does: nothing may be left behind."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _deaf() -> Iterator[None]:
    """While the box is taken down, which is soon done, nothing interrupts it."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
