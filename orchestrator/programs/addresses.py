"""Which machine is a host, and by which addresses is it reached?"""

from __future__ import annotations

from typing import Any

from orchestrator.programs.request import Request, Value


class Address(Value):
    """An IPv4 address of an interface that is up; `mbit` is its speed, None where the kernel tells none."""

    interface: str
    address: str
    prefix: int
    mbit: int | None


class Addresses(Value):
    hostname: str
    place: tuple[str, str, str]
    """Machine, boot and the deployment's state folder: the same by whatever name it is reached."""
    addresses: tuple[Address, ...]
    group: Any = None
    """What the record of the last launch says of its group (`survey.membership`); None for one that served alone."""
    stopped: bool = False
    """Whether a person has stopped that launch."""


class ListAddresses(Request[Addresses]):
    program = "addresses"

    instance: str
