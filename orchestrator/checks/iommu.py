"""Does an IOMMU or ACS redirect what GPUs send each other?"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.checks.check import Check, not_known
from orchestrator.facts import topology
from orchestrator.facts.examined import iommu
from orchestrator.facts.gather import Facts
from orchestrator.facts.source import Unknown
from orchestrator.facts.topology import Topology

SUBJECT = "IOMMU"


def check(facts: Facts) -> Iterator[Check]:
    """The IOMMU and ACS, where several GPUs are there: the driver allows peer to peer, and the data may not arrive."""
    read, links = facts.of(iommu.FACT), facts.of(topology.FACT)
    if len(facts.cards) < 2:
        return
    if isinstance(read, Unknown):
        yield from not_known(SUBJECT, read)
        return
    by_nvlink = isinstance(links, Topology) and links.shape == "nvlink"
    words = ", ".join(read.options) or "no option of the kernel"
    if read.active is None:
        yield Check(SUBJECT, "unknown", f"the kernel shows no IOMMU groups ({words})")
        return
    if read.guest or by_nvlink or (not read.active and not read.acs_bridges):
        state = "active" if read.active else "not active"
        yield Check(SUBJECT, "pass", f"{state} ({words}){', a virtual machine' if read.guest else ''}")
        return
    if read.acs_bridges:
        bridges = f"ACS redirects on {read.acs_bridges} PCI bridges: peer to peer may hang"
        yield Check(
            SUBJECT, "warn", bridges, "sudo setpci -s BDF ECAP_ACS+0x6.w=0000    (each bridge, each boot)"
        )
    elif "iommu=pt" not in read.options:
        hang = f"active ({words}): peer to peer between PCIe cards may hang"
        yield Check(SUBJECT, "warn", hang, "add iommu=pt to the kernel's command line, then reboot")
    else:
        yield Check(SUBJECT, "pass", f"active, passing through ({words})")
    if read.acs_bridges is None:
        yield Check("ACS", "unknown", "only root may ask the bridges", "sudo lspci -vvv | grep -i acsctl")
