"""How are the GPUs connected, and what does that ask of NCCL?"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.checks.check import Check, not_known
from orchestrator.facts import machine, p2p, topology
from orchestrator.facts.gather import Facts
from orchestrator.facts.machine import Machine
from orchestrator.facts.source import Unknown

SUBJECT = "links"
SHAPES = {
    "nvlink": "all pairs of GPUs by NVLink",
    "nvlink_partly": "some pairs of GPUs by NVLink, the others by PCIe",
    "pcie_switch": "all pairs of GPUs through PCIe switches",
    "pcie_bridge": "GPUs through the host bridges of one socket",
    "pcie_sockets": "GPUs across NUMA nodes",
}


def check(facts: Facts) -> Iterator[Check]:
    """The shape of the links with the variables that it asks for, and whether the driver lets GPUs reach each other."""
    if len(facts.cards) < 2:
        return
    links, pairs, system = facts.of(topology.FACT), facts.of(p2p.FACT), facts.of(machine.FACT)
    yield from not_known(SUBJECT, links)
    yield from not_known("peer to peer", pairs)
    known = () if isinstance(pairs, Unknown) else pairs
    if not isinstance(links, Unknown):
        sockets, vendor = (system.sockets, system.cpu_vendor) if isinstance(system, Machine) else (None, None)
        wanted = topology.suggest_nccl(links, sockets=sockets, cpu_vendor=vendor, no_p2p=known)
        variables = " ".join(f"{item.name}={item.value}" for item in wanted)
        asked = f"NCCL is best with {variables}" if wanted else "NCCL needs no variable for it"
        yield Check(SUBJECT, "pass", f"{SHAPES.get(links.shape, links.shape)}: {asked}")
    if not isinstance(pairs, Unknown):
        yield _peers(known, len(facts.cards))


def _peers(refused: tuple[tuple[int, int, str], ...], cards: int) -> Check:
    count = cards * (cards - 1) // 2
    if not refused:
        return Check(
            "peer to peer", "pass", f"the driver allows it for all {count} pairs (its claim, no test)"
        )
    a, b, word = refused[0]
    through = f"{len(refused)} of {count} pairs go through the CPU's memory"
    return Check("peer to peer", "warn", f"the driver says {word} for GPU{a}-GPU{b}: {through}")
