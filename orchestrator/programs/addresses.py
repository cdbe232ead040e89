"""By which addresses is a host reached?"""

from __future__ import annotations

from orchestrator.programs.request import Request, Value


class Address(Value):
    """An IPv4 address of an interface that is up; `mbit` is its speed, None where the kernel tells none."""

    interface: str
    address: str
    prefix: int
    mbit: int | None


class Addresses(Value):
    hostname: str
    addresses: tuple[Address, ...]


class ListAddresses(Request[Addresses]):
    program = "addresses"
