"""On which network do the hosts of a group reach each other? Pure: the addresses of each in, one of each out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Interface, IPv4Network
from types import MappingProxyType

from orchestrator.base.errors import PreflightRefused
from orchestrator.programs.addresses import Address, Addresses

_SLOWEST = 1
"""Mbit/s of an interface that tells no speed, as virtual ones do: any that tells one is preferred."""


_LOOPBACK = Address(interface="lo", address="127.0.0.1", prefix=8, mbit=None)


def meeting(
    hosts: Mapping[str, Addresses], kept: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Address]:
    """The address of each host, by its name, on the fastest network that all of them are in, or on that of the addresses which are
    `kept` as long as each host has its own: a launch is not left for a network that came up beside it.

    A network in which two machines have the same address is one inside each of them, as container engines make them. Names of one
    machine meet inside it: whatever other networks it has may come and go.
    Raises PreflightRefused("no_common_network").
    """
    if len({(_machine(listed), listed.addresses) for listed in hosts.values()}) == 1:
        return dict.fromkeys(hosts, _LOOPBACK)
    common = [own for network in _networks(hosts) if (own := _on(network, hosts)) is not None]
    if not common:
        look = f"ip -br address  # on {next(iter(hosts))}"
        raise PreflightRefused("no_common_network", _apart(hosts), next_command=look)
    still = [
        own for own in common if kept and [each.address for each in own] == [kept.get(name) for name in hosts]
    ]
    return dict(zip(hosts, max(still or common, key=_speed), strict=True))


def otherwise(hosts: Mapping[str, Addresses], kept: Mapping[str, str]) -> str:
    """What is to be said of the network of a launch that is on record: that it is gone, or that there is a faster one by now;
    "" where there is nothing to say."""
    there, best = meeting(hosts, kept), meeting(hosts)
    if not kept or there == dict.fromkeys(hosts, _LOOPBACK):
        return ""
    if any(there[name].address != kept[name] for name in hosts):
        before = ", ".join(f"{kept[name]} on {name}" for name in hosts)
        return f"the hosts meet no longer where the last launch had them ({before}), but in {_network(next(iter(there.values())))}"
    if _speed(best.values()) > _speed(there.values()):
        faster, now = (_network(next(iter(each.values()))) for each in (best, there))
        return f"the hosts go on to meet in {now}, as the last launch has it; {faster} is faster, and taken after a stop"
    return ""


def _networks(hosts: Mapping[str, Addresses]) -> Iterable[IPv4Network]:
    return dict.fromkeys(_network(address) for listed in hosts.values() for address in listed.addresses)


def _on(network: IPv4Network, hosts: Mapping[str, Addresses]) -> list[Address] | None:
    """The address of every host in a network; None where one of them has none there, or two have the same."""
    own = [
        next((address for address in listed.addresses if _network(address) == network), None)
        for listed in hosts.values()
    ]
    whole = [address for address in own if address is not None]
    machines = {_machine(listed) for listed in hosts.values()}
    return (
        whole if len(whole) == len(own) and len({each.address for each in whole}) >= len(machines) else None
    )


def _machine(listed: Addresses) -> tuple[str, ...]:
    """Clones may have one name."""
    return (listed.hostname, *listed.place[:2])


def _network(address: Address) -> IPv4Network:
    return IPv4Interface(f"{address.address}/{address.prefix}").network


def _speed(addresses: Iterable[Address]) -> int:
    """That of the slowest: ranks wait for each other."""
    return min(address.mbit or _SLOWEST for address in addresses)


def _apart(hosts: Mapping[str, Addresses]) -> str:
    every = "; ".join(
        f"{name} has {', '.join(f'{each.address}/{each.prefix}' for each in listed.addresses) or 'none'}"
        for name, listed in hosts.items()
    )
    return f"the hosts share no network on which each has an address of its own: {every}"
