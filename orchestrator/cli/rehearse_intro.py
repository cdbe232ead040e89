"""What is told first of a rehearsal: what of it is not the real thing, and how is it run?"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.rehearsal.box import Box
    from orchestrator.rehearsal.several import SeveralBoxes


def stand_ins(rehearsed: Box | SeveralBoxes) -> dict[str, str]:
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
    return parts | _of_a_fleet(rehearsed)


def _of_a_fleet(rehearsed: Box | SeveralBoxes) -> dict[str, str]:
    from orchestrator.rehearsal.fleet_boxes import FleetBoxes

    if not isinstance(rehearsed, FleetBoxes):
        return {}
    whole, own = rehearsed.head.written.parallel.gpus, rehearsed.head.playbook.parallel.gpus
    router = rehearsed.router
    parts = {"replica": f"on {own} cards, with as much of the weights, in place of {whole} cards"}
    if not rehearsed.real_router:
        parts["router"] = f"a program that shares requests out as {router.name} {router.version} does"
    return parts if own < whole else {name: text for name, text in parts.items() if name != "replica"}


def introduction(box: Box | SeveralBoxes) -> list[str]:
    """The first lines: what is not real here, and how it is run."""
    from orchestrator.rehearsal import faults

    lines = [f"rehearsal of {box.head.playbook.name}, {_where(box)} on this machine"]
    for name, text in stand_ins(box).items():
        lines += _labelled("stand-in", f"{name}: {text}")
    real = "deploy's own code over a real SSH connection; downloads, files, processes, /dev/shm, HTTP"
    lines += _labelled("real", f"{''.join(f'{each}; ' for each in real_parts(box))}{real}")
    lines += _labelled("run with", "--no-predict: the failure is met and repaired, not foreseen")
    if box.fault:
        fault = faults.load()[box.fault]
        lines += _labelled(
            "fault", f"{box.fault}: {fault.title}; such a run leaves with exit code {fault.exit}"
        )
    return [*lines, ""]


def real_parts(box: Box | SeveralBoxes) -> list[str]:
    """What could be acted, and is not."""
    from orchestrator.rehearsal.fleet_boxes import FleetBoxes

    if isinstance(box, FleetBoxes) and box.real_router:
        return [f"{box.router.name} {box.router.version}, which deploy installed on this machine"]
    return ["vLLM on this processor"] if box.head.real_engine else []


def _where(box: Box | SeveralBoxes) -> str:
    from orchestrator.rehearsal.fleet_boxes import FleetBoxes

    if len(box.aliases) == 1:
        return "on a host in a box"
    hosts = f"{len(box.aliases)} hosts in boxes"
    return f"{box.replicas} replicas on {hosts}" if isinstance(box, FleetBoxes) else f"on {hosts}, as one,"


def _labelled(label: str, text: str) -> list[str]:
    head = f"  {label:<10} "
    lines = textwrap.wrap(text, 80 - len(head), break_long_words=False, break_on_hyphens=False)
    return [f"{head if number == 0 else ' ' * len(head)}{line}" for number, line in enumerate(lines)]
