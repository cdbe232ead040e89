"""On which network hosts reach each other."""

from __future__ import annotations

import pytest

from orchestrator.base.errors import PreflightRefused
from orchestrator.group.meeting import meeting, otherwise
from orchestrator.programs.addresses import Address, Addresses


def host(name: str, *listed: tuple[str, str, int | None]) -> Addresses:
    addresses = []
    for interface, text, mbit in listed:
        address, _, prefix = text.partition("/")
        addresses.append(Address(interface=interface, address=address, prefix=int(prefix), mbit=mbit))
    return Addresses(hostname=name, place=(name, "", ""), addresses=tuple(addresses))


DOCKER = ("docker0", "172.17.0.1/16", None)


@pytest.mark.parametrize(
    ("first", "second", "taken"),
    [
        ([("eth0", "10.0.0.1/24", 1000)], [("eth0", "10.0.0.2/24", 1000)], ("10.0.0.1", "10.0.0.2")),
        (
            [("eth0", "10.0.0.1/24", 1000), ("ib0", "10.9.0.1/24", 200_000)],
            [("bond0", "10.0.0.2/24", 25_000), ("ib7", "10.9.0.2/24", 100_000)],
            ("10.9.0.1", "10.9.0.2"),
        ),
        ([DOCKER, ("eth0", "10.0.0.1/8", None)], [DOCKER, ("eth0", "10.3.0.2/8", None)], ("10.0.0.1", "10.3.0.2")),
        (
            [("eth0", "10.0.0.1/24", 40_000), ("eth1", "10.1.0.1/24", 1000)],
            [("eth0", "10.0.0.2/24", 100), ("eth1", "10.1.0.2/24", 1000)],
            ("10.1.0.1", "10.1.0.2"),
        ),
    ],
    ids=["the only one", "the fastest", "not one inside each of them", "as fast as its slowest"],
)  # fmt: skip
def test_the_network_is_the_fastest_of_all_hosts(first: list, second: list, taken: tuple) -> None:
    places = meeting({"a": host("one", *first), "b": host("two", *second)})
    assert (places["a"].address, places["b"].address) == taken
    assert list(places) == ["a", "b"]


@pytest.mark.parametrize("own", [[("eth0", "10.0.0.1/24", 1000)], []], ids=["with a network", "without any"])
def test_two_names_of_one_machine_meet_inside_it(own: list) -> None:
    places = meeting({"a": host("one", *own), "b": host("one", *own)})
    assert {(place.interface, place.address) for place in places.values()} == {("lo", "127.0.0.1")}


def test_hosts_that_are_apart_are_told_with_their_addresses() -> None:
    hosts = {"a": host("one", DOCKER, ("eth0", "10.0.0.1/24", None)), "b": host("two", DOCKER)}
    with pytest.raises(PreflightRefused, match=r"a has 172\.17\.0\.1/16, 10\.0\.0\.1/24; b has") as refused:
        meeting(hosts)
    assert refused.value.code == "no_common_network"
    with pytest.raises(PreflightRefused, match="b has none"):
        meeting({**hosts, "b": host("two")})


SLOW = [("eth0", "10.0.0.1/24", 1000)], [("eth0", "10.0.0.2/24", 1000)]
FAST = [("ib0", "10.9.0.1/24", 200_000)], [("ib0", "10.9.0.2/24", 200_000)]
KEPT = {"a": "10.0.0.1", "b": "10.0.0.2"}


@pytest.mark.parametrize(
    ("first", "second", "kept", "taken", "words"),
    [
        ([*SLOW[0], *FAST[0]], [*SLOW[1], *FAST[1]], {}, "10.9.0.1", ""),
        (SLOW[0], SLOW[1], KEPT, "10.0.0.1", ""),
        ([*SLOW[0], *FAST[0]], [*SLOW[1], *FAST[1]], KEPT, "10.0.0.1", "10.9.0.0/24 is faster, and taken after a stop"),
        (FAST[0], [*SLOW[1], *FAST[1]], KEPT, "10.9.0.1", "no longer where the last launch had them (10.0.0.1 on a, 10.0.0.2 on b)"),
    ],
    ids=["no launch is there", "as it was", "a faster one came up", "it is gone"],
)  # fmt: skip
def test_a_launch_is_not_left_for_a_network_that_came_up_beside_it(
    first: list, second: list, kept: dict[str, str], taken: str, words: str
) -> None:
    hosts = {"a": host("one", *first), "b": host("two", *second)}
    assert meeting(hosts, kept)["a"].address == taken
    assert words in otherwise(hosts, kept)
    assert bool(words) == bool(otherwise(hosts, kept))


def test_clones_of_one_name_do_not_meet_inside_each_of_them() -> None:
    first, second = host("ubuntu", DOCKER, ("eth0", "10.0.0.1/24", 1000)), host("ubuntu", DOCKER)
    second = second.model_copy(update={"place": ("ubuntu", "another boot", "")})
    with pytest.raises(PreflightRefused) as refused:
        meeting({"a": first, "b": second})
    assert refused.value.code == "no_common_network"
    alike = {"a": host("ubuntu", DOCKER), "b": second}
    with pytest.raises(PreflightRefused):
        meeting(alike)
