"""Do all hosts have the same ways to talk over RDMA, and is any called by a loopback address?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from orchestrator.checks.between.group_check import GroupCheck, alike, apart, known, named
from orchestrator.facts import driver, machine
from orchestrator.facts.driver import Driver
from orchestrator.facts.examined import network
from orchestrator.facts.examined.network import Network
from orchestrator.facts.gather import Facts
from orchestrator.facts.machine import Machine

_DMABUF = (5, 12)
"""The kernel from which on a driver whose module is open lends cards' memory to RDMA cards by itself (NVIDIA's GPUDirect RDMA)."""


def check(hosts: Mapping[str, Facts]) -> Iterator[GroupCheck]:
    """NCCL takes RDMA where a host has it: of two of which one has none, each waits for the other on another way."""
    links = known(hosts, network.FACT)
    if len(links) == len(hosts):
        yield from _rdma(links)
        yield from _gpu_direct({name: facts for name, facts in hosts.items() if _ports(links[name])}, links)
    yield from _names(links)


def _ports(there: Network) -> int:
    return sum(port.active for port in there.rdma)


def _rdma(links: Mapping[str, Network]) -> Iterator[GroupCheck]:
    counts = alike({name: _ports(there) for name, there in links.items()})
    without = [name for name, there in links.items() if not _ports(there)]
    if len(counts) == 1:
        if counts[0][0]:
            yield GroupCheck("RDMA", "pass", f"{counts[0][0]} active ports on each")
    elif without:
        words = (
            f"no port is active on {named(without)}, while others have some: NCCL finds no common way "
            "unless NCCL_IB_DISABLE=1 is set"
        )
        yield GroupCheck("RDMA", "warn", words, f"ibstat; rdma link  # on {without[0]}")
    else:
        fewest = min(counts)
        yield GroupCheck("RDMA", "warn", f"active ports: {apart(counts)}", f"ibstat  # on {fewest[1][0]}")


def _gpu_direct(hosts: Mapping[str, Facts], links: Mapping[str, Network]) -> Iterator[GroupCheck]:
    """Whether RDMA cards read GPUs' memory themselves; else each byte goes through the host's."""
    direct = {name: links[name].peermem or _lends(facts) for name, facts in hosts.items() if facts.cards}
    lacking = [name for name, able in direct.items() if not able]
    if lacking:
        words = (
            f"nvidia_peermem is not loaded on {named(lacking)}: what cards send over RDMA goes through memory"
        )
        yield GroupCheck("GPUDirect", "warn", words, f"sudo modprobe nvidia_peermem  # on {lacking[0]}")
    elif direct:
        yield GroupCheck("GPUDirect", "pass", "RDMA cards read the memory of GPUs on all")


def _lends(facts: Facts) -> bool:
    loaded, here = facts.of(driver.FACT), facts.of(machine.FACT)
    kernel = re.match(r"Linux (\d+)\.(\d+)", here.kernel or "") if isinstance(here, Machine) else None
    open_ = isinstance(loaded, Driver) and loaded.open is True
    return open_ and kernel is not None and (int(kernel[1]), int(kernel[2])) >= _DMABUF


def _names(links: Mapping[str, Network]) -> Iterator[GroupCheck]:
    for name, there in links.items():
        if there.own_name:
            words = f"{name} calls itself {there.own_name} (/etc/hosts): its ranks are told their interface by name"
            yield GroupCheck("names", "pass", words)
