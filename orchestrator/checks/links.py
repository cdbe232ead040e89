"""How are the GPUs connected, what does that ask of NCCL, and what may spoil it?"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.checks.check import Check, not_known
from orchestrator.facts import iommu, machine, p2p, topology
from orchestrator.facts.gather import Facts
from orchestrator.facts.machine import Machine
from orchestrator.facts.source import Unknown
from orchestrator.facts.topology import Topology

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
        yield from _redirected(facts, links)


def _peers(refused: tuple[tuple[int, int, str], ...], cards: int) -> Check:
    count = cards * (cards - 1) // 2
    if not refused:
        return Check(
            "peer to peer", "pass", f"the driver allows it for all {count} pairs (its claim, no test)"
        )
    a, b, word = refused[0]
    through = f"{len(refused)} of {count} pairs go through the CPU's memory"
    return Check("peer to peer", "warn", f"the driver says {word} for GPU{a}-GPU{b}: {through}")


def _redirected(facts: Facts, links: object) -> Iterator[Check]:
    """An IOMMU or ACS between PCIe cards: the driver allows peer to peer, and the data may not arrive."""
    read = facts.of(iommu.FACT)
    if isinstance(read, Unknown):
        yield from not_known("IOMMU", read)
        return
    by_nvlink = isinstance(links, Topology) and links.shape == "nvlink"
    words = ", ".join(read.options) or "no option of the kernel"
    if read.guest or by_nvlink or (not read.active and not read.acs_bridges):
        state = {True: "active", False: "not active", None: "not known"}[read.active]
        yield Check("IOMMU", "pass", f"{state} ({words}){', a virtual machine' if read.guest else ''}")
        return
    if read.acs_bridges:
        bridges = f"ACS redirects on {read.acs_bridges} PCI bridges: peer to peer may hang"
        yield Check(
            "IOMMU", "warn", bridges, "sudo setpci -s BDF ECAP_ACS+0x6.w=0000    (each bridge, each boot)"
        )
    elif "iommu=pt" not in read.options:
        hang = f"active ({words}): peer to peer between PCIe cards may hang"
        yield Check("IOMMU", "warn", hang, "add iommu=pt to the kernel's command line, then reboot")
    else:
        yield Check("IOMMU", "pass", f"active, passing through ({words})")
    if read.acs_bridges is None:
        yield Check("ACS", "unknown", "only root may ask the bridges", "sudo lspci -vvv | grep -i acsctl")
