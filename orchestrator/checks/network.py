"""Which interfaces and RDMA ports could ranks on several hosts talk over?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.checks.check import Check, not_known
from orchestrator.facts.examined import network
from orchestrator.facts.examined.network import Interface, RdmaPort
from orchestrator.facts.gather import Facts
from orchestrator.facts.source import Unknown


def check(facts: Facts) -> Iterator[Check]:
    """Interfaces that are up, and RDMA ports with their state."""
    links = facts.of(network.FACT)
    yield from not_known("network", links)
    if not isinstance(links, Unknown):
        up = [interface for interface in links.interfaces if interface.physical and interface.state == "up"]
        yield Check("network", "pass", ", ".join(map(_interface, up)) or "no physical interface is up")
        yield from _rdma(links.rdma)


def _interface(interface: Interface) -> str:
    return f"{interface.name} {interface.mbit / 1000:g} Gb/s" if interface.mbit else interface.name


def _rdma(listed: Sequence[RdmaPort]) -> Iterator[Check]:
    active = [port for port in listed if port.active]
    if active:
        words = ", ".join(f"{port.device} ({port.layer}, {port.gbit or 0:g} Gb/s)" for port in active)
        yield Check("RDMA", "pass", words)
    down = [port for port in listed if not port.active]
    if down:
        words = ", ".join(f"{port.device}:{port.port} is {port.state}" for port in down)
        yield Check("RDMA", "warn" if not active else "pass", words, None if active else "ibstat; rdma link")
