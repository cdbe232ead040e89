"""Which interfaces and RDMA ports could ranks on several hosts talk over, and who listens here?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.checks.check import Check, not_known
from orchestrator.facts import network, ports
from orchestrator.facts.gather import Facts
from orchestrator.facts.network import Interface, RdmaPort
from orchestrator.facts.ports import Port
from orchestrator.facts.source import Unknown

NAMED = 8
"""So many ports are shown; --json has all."""


def check(facts: Facts) -> Iterator[Check]:
    """Interfaces that are up, RDMA ports with their state, ports that are taken."""
    links, taken = facts.of(network.FACT), facts.of(ports.FACT)
    yield from not_known("network", links)
    if not isinstance(links, Unknown):
        up = [interface for interface in links.interfaces if interface.physical and interface.state == "up"]
        yield Check("network", "pass", ", ".join(map(_interface, up)) or "no physical interface is up")
        yield from _rdma(links.rdma)
    yield from not_known("ports", taken)
    if not isinstance(taken, Unknown):
        yield Check("ports", "pass", _ports(taken))


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


def _ports(taken: Sequence[Port]) -> str:
    words = [
        f"{port.port} ({port.program}, pid {port.pid}, user {port.user})"
        if port.pid
        else f"{port.port} ({port.user})"
        for port in taken
    ]
    more = f", and {len(words) - NAMED} more" if len(words) > NAMED else ""
    return f"taken: {', '.join(words[:NAMED])}{more}" if words else "nobody listens"
