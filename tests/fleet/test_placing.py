"""Where replicas go."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from orchestrator.base.errors import PreflightRefused, UsageError
from orchestrator.fleet.placing import FleetShape, HostRoom, place, why
from orchestrator.fleet.replica import Replica, number_of, numbers
from tests.fleet.links import SWITCHES

ALL = tuple(range(8))
A = HostRoom("a", "127.0.0.1", ALL, links=SWITCHES)
B = HostRoom("b", "10.0.0.2", ALL, links=SWITCHES)


def cards(replicas: tuple[Replica, ...]) -> Mapping[str, tuple[int, ...]]:
    return {f"{replica.host} {replica.port}": replica.cards for replica in replicas}


def test_four_on_one_host_have_two_cards_each() -> None:
    placed = place(FleetShape("m", 4, 2, 8000), [A])
    assert cards(placed) == {"a 8001": (0, 1), "a 8002": (2, 3), "a 8003": (4, 5), "a 8004": (6, 7)}
    assert [replica.name for replica in placed] == ["m-1", "m-2", "m-3", "m-4"]
    first = placed[0]
    assert first.url == "http://127.0.0.1:8001"
    assert (first.settings, first.environment) == (
        ("port=8001", "listen=127.0.0.1"),
        ("CUDA_VISIBLE_DEVICES=0,1",),
    )
    assert why(first, [A]) == "one PCIe switch"


def test_they_are_spread_over_the_hosts() -> None:
    placed = place(FleetShape("m", 3, 4, 8000), [A, B])
    assert cards(placed) == {"a 8001": (0, 1, 2, 3), "b 8002": (0, 1, 2, 3), "a 8003": (4, 5, 6, 7)}
    assert [replica.address for replica in placed] == ["127.0.0.1", "10.0.0.2", "127.0.0.1"]


def test_a_host_without_room_is_passed_over() -> None:
    held = HostRoom("a", "127.0.0.1", (4, 5), held=(0, 1, 2, 3, 6, 7), links=SWITCHES)
    placed = place(FleetShape("m", 3, 2, 8000), [held, B])
    assert cards(placed) == {"a 8001": (4, 5), "b 8002": (0, 1), "b 8003": (2, 3)}
    with pytest.raises(
        PreflightRefused,
        match=r"5 of 6 replicas find 2 free GPUs: a has 0 left, others hold GPU 0-3,6-7; b has 0",
    ):
        place(FleetShape("m", 6, 2, 8000), [held, B])  # fmt: skip


def test_what_is_there_stays_and_fewer_keep_the_first() -> None:
    kept = Replica("m", 2, "a", "127.0.0.1", 8002, (0, 1))
    placed = place(FleetShape("m", 3, 2, 8000), [A, B], [kept])
    assert placed[1] == kept
    assert cards(placed) == {"b 8001": (0, 1), "a 8002": (0, 1), "a 8003": (2, 3)}
    assert place(FleetShape("m", 1, 2, 8000), [A, B], placed) == placed[:1]


def test_cpus_need_no_cards() -> None:
    placed = place(FleetShape("m", 3, 0, 8000), [HostRoom("a", "127.0.0.1"), HostRoom("b", "10.0.0.2")])
    assert [replica.host for replica in placed] == ["a", "b", "a"]
    assert all(replica.environment == () for replica in placed)


def test_another_number_of_cards_is_refused_while_a_replica_has_its_own() -> None:
    kept = Replica("m", 1, "a", "127.0.0.1", 8001, (0, 1))
    with pytest.raises(UsageError, match="m-1 on a has GPU 0-1, and 4 GPUs are asked for"):
        place(FleetShape("m", 2, 4, 8000), [A], [kept])


def test_ports_have_an_end() -> None:
    with pytest.raises(UsageError, match="go beyond 65535") as refused:
        place(FleetShape("m", 3, 0, 65533), [A])
    assert refused.value.code == "fleet_port"


def test_names_and_cards_in_words() -> None:
    assert [number_of("m", name) for name in ("m-1", "m-12", "m-router", "m-x-1", "mm-1", "m-0")] == [
        1, 12, None, None, None, None,
    ]  # fmt: skip
    assert numbers((0, 1, 2, 5)) == "GPU 0-2,5"
    assert numbers(()) == "no GPU"
