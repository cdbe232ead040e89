"""What of a host may a patch's window ask for, each as a text by its name?"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.engines.options import Options
from orchestrator.facts import driver, limits, machine
from orchestrator.facts.machine import Machine
from orchestrator.facts.source import Unknown
from orchestrator.plan.installing import on_cpu
from orchestrator.playbook.playbook import Playbook
from orchestrator.survey.survey import Survey

_MIB = 1 << 20
VISIBLE = "CUDA_VISIBLE_DEVICES"


def measured(playbook: Playbook, survey: Survey, options: Options) -> dict[str, str]:
    """Only what is known; sizes are MiB, counts and CUDA's versions numbers."""
    sources = (
        _device(playbook, survey),
        _machine(survey),
        _limits(survey),
        _driver(survey),
        _cards(survey),
        _visible(survey, options),
        _group(playbook, survey),
    )
    return {name: str(value) for source in sources for name, value in source if value is not None}


def _device(playbook: Playbook, survey: Survey) -> Iterator[tuple[str, object]]:
    """Where the engine computes: "cuda" where the host has NVIDIA's cards and an engine that is not one for CPUs."""
    if on_cpu(playbook, survey):
        yield "device", "cpu"
    elif survey.facts.cards:
        yield "device", "cuda"


def _machine(survey: Survey) -> Iterator[tuple[str, object]]:
    here = survey.facts.of(machine.FACT)
    if not isinstance(here, Machine):
        return
    yield "shm_mib", None if here.shm_bytes is None else here.shm_bytes // _MIB
    yield "memory_mib", None if here.memory_bytes is None else here.memory_bytes // _MIB
    yield "uid", here.uid
    yield "user", here.user
    yield "cpus", here.cpus


def _visible(survey: Survey, options: Options) -> Iterator[tuple[str, object]]:
    """How many cards the engine sees, where CUDA_VISIBLE_DEVICES says it."""
    here = survey.facts.of(machine.FACT)
    listed = options.variable(VISIBLE)
    if listed is None and isinstance(here, Machine):
        listed = here.cuda_visible_devices
    if listed is not None:
        yield "visible_gpus", len([name for name in listed.split(",") if name.strip()])


def _limits(survey: Survey) -> Iterator[tuple[str, object]]:
    read = survey.facts.of(limits.FACT)
    if isinstance(read, Unknown):
        return
    yield "open_files", read.open_files and read.open_files.hard
    yield (
        "locked_mib",
        None if not read.locked_bytes or read.locked_bytes.soft is None else read.locked_bytes.soft // _MIB,
    )
    counts = [read.processes.soft if read.processes else None, read.tasks]
    yield "processes", min((count for count in counts if count is not None), default=None)
    yield "container", read.container


def _driver(survey: Survey) -> Iterator[tuple[str, object]]:
    loaded, engine = survey.facts.of(driver.FACT), survey.engine
    if not isinstance(loaded, Unknown):
        yield "driver_cuda", loaded.cuda
    if engine is not None:
        yield "torch_cuda", engine.torch_cuda


def _cards(survey: Survey) -> Iterator[tuple[str, object]]:
    cards = survey.facts.cards
    if not cards:
        return
    yield "cut_up_gpus", sum(card.mig == "Enabled" for card in cards)
    fabric = {card.fabric for card in cards if card.fabric is not None}
    yield "fabric", next(iter(sorted(fabric - {"Completed"})), "Completed") if fabric else None
    yield "exclusive_gpus", sum(card.compute_mode == "Exclusive_Process" for card in cards)


def _group(playbook: Playbook, survey: Survey) -> Iterator[tuple[str, object]]:
    """Over how many hosts the ranks are spread, and by how many ports of InfiniBand or RoCE this one could reach the others."""
    node = playbook.node
    if node is None:
        return
    yield "hosts", node.of
    from orchestrator.facts.examined import network  # which only hosts that serve together are asked for

    links = survey.facts.of(network.FACT)
    if not isinstance(links, Unknown):
        yield "rdma_ports", sum(port.active for port in links.rdma)
