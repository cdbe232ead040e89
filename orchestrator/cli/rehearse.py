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
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.base.errors import DeployError, UsageError
from orchestrator.cli import complete
from orchestrator.cli.hints import command_for
from orchestrator.cli.options import FOLDER, SharedOptions

if TYPE_CHECKING:
    from orchestrator.loop.deployment import Deployment
    from orchestrator.rehearsal.box import Box, Pace
    from orchestrator.rehearsal.boxes import Boxes

HOST = "rehearsal"
MOST_NODES = 8
"""Each of them has a process for each of its cards."""


def list_faults(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """`--fault list` prints the faults and ends."""
    if value != "list":
        return value
    from orchestrator.rehearsal import faults

    for name, fault in faults.load().items():
        with_nodes = " (--nodes)" if fault.where == "nodes" else ""
        click.echo(f"{name:<20} exit {fault.exit}  {fault.title}{with_nodes}")
    raise click.exceptions.Exit(0)


@click.command(
    epilog="""\b
Examples:
  deploy rehearse kimi-k2.5
  deploy rehearse kimi-k2.5 --fault shm-full
  deploy rehearse kimi-k2.5 --keep
  deploy rehearse kimi-k2.5 --nodes 2 --fault rank-dies
"""
)
@click.argument("playbook", shell_complete=complete.playbooks)
@click.option("--fast", is_flag=True, help="take no pauses: the engine's log passes at once")
@click.option(
    "--fault",
    metavar="NAME",
    callback=list_faults,
    help="rehearse another failure; `--fault list` shows them all",
)
@click.option(
    "--nodes",
    type=click.IntRange(2, MOST_NODES),
    metavar="N",
    help="spread the model over N hosts in boxes, as --as-one does",
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

    python = None
    if engine == "vllm" or engine_python:
        if nodes:
            raise UsageError("invalid_option", "--nodes is for the stand-in engine", verb="rehearse")
        python = engine_python or _real_engine(as_json)
    pace: Pace = "fast" if fast else "default"
    began = time.monotonic()
    _forget_hub_variables()
    try:
        with _ended_by_signals():
            box: Box | Boxes
            if nodes:
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
        if nodes
        else "the host in the box and all that ran on it"
    )
    text = f"rehearsed in {seconds:.1f}s; {gone} are gone"
    _tell(as_json, text, seconds=round(seconds, 2), exit_code=code)
    return code


def stand_ins(rehearsed: Box | Boxes) -> dict[str, str]:
    """Which parts of this rehearsal are not the real thing, and what is in their place."""
    several, box = len(rehearsed.aliases), rehearsed.head
    shards = len(list(box.repository.glob("*.safetensors")))
    size = sum(file.stat().st_size for file in box.repository.iterdir()) / 1e6
    parts = {
        "host": f"an SSH server in this process; commands run as your user below {box.folder}",
        "hub": f"a server in this process with {box.playbook.model.repository}: {shards} shards, {size:.0f} MB",
    }
    figures = box.written.figures
    if figures and figures.shards and figures.weights_bytes:
        parts["hub"] += f", in place of {figures.shards} shards, {figures.weights_bytes / 1e9:.0f} GB"
    if box.real_engine:
        parts["hub"] += "; a model of two layers"
        return parts
    parts["cards"] = f"{max(8, box.playbook.gpus)}x RTX PRO 6000, as nvidia-smi tells it"
    if several > 1:
        parts["host"] = f"{several} SSH servers in this process, one network; commands run as your user"
        parts["cards"] += ", on each host"
    parts["engine"] = "a program that prints, fails and serves as vLLM 0.16.0 would; it computes nothing"
    return parts


def introduction(box: Box | Boxes) -> list[str]:
    """The first lines: what is not real here, and how it is run."""
    from orchestrator.rehearsal import faults

    several = len(box.aliases)
    where = "a host in a box" if several == 1 else f"{several} hosts in boxes, as one,"
    lines = [f"rehearsal of {box.head.playbook.name}, on {where} on this machine"]
    for name, text in stand_ins(box).items():
        lines += _labelled("stand-in", f"{name}: {text}")
    real = "deploy's own code over a real SSH connection; downloads, files, processes, /dev/shm, HTTP"
    lines += _labelled("real", f"vLLM on this processor; {real}" if box.head.real_engine else real)
    lines += _labelled("run with", "--no-predict: the failure is met and repaired, not foreseen")
    if box.fault:
        fault = faults.load()[box.fault]
        lines += _labelled(
            "fault", f"{box.fault}: {fault.title}; such a run leaves with exit code {fault.exit}"
        )
    return [*lines, ""]


def _labelled(label: str, text: str) -> list[str]:
    head = f"  {label:<10} "
    lines = textwrap.wrap(text, 80 - len(head), break_long_words=False, break_on_hyphens=False)
    return [f"{head if number == 0 else ' ' * len(head)}{line}" for number, line in enumerate(lines)]


def _bring_up(box: Box | Boxes, patches: tuple[Path, ...], as_json: bool, keep: bool) -> int:
    """`deploy up` as it is, on the host in the box."""
    from orchestrator.base.limits import Limits
    from orchestrator.cli.main import tell
    from orchestrator.cli.session import on_each_host

    options = SharedOptions(
        playbook=box.head.playbook.name,
        as_one=len(box.aliases) > 1,
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

    def work(deployment: Deployment) -> None:
        for reading in deployment.readings:
            reading.job = replace(reading.job, lasting=keep)
        deployment.up()

    try:
        limits = Limits(ready_seconds=box.ready_seconds)
        return on_each_host(options, work, predict=False, limits=limits, whole=True)
    except DeployError as error:
        tell(error, as_json=as_json, host=box.head.alias if as_json and not options.as_one else "")
        return error.exit_code


def _keep(box: Box | Boxes, as_json: bool) -> None:
    """Leave the host up until the person has had enough."""
    command = command_for(shlex.join([box.head.playbook.name, *box.reach()]))
    commands = [
        command("status"),
        f"{command('logs')} -f",
        *(command(verb) for verb in ("diff", "revert", "restart")),
        f"ssh -F {shlex.quote(box.ssh_config)} {box.aliases[-1]} nvidia-smi topo -m",
    ]
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
    from orchestrator.rehearsal.box import leads_elsewhere

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
