"""What the hosts of a fleet have."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.base.errors import HostError
from orchestrator.facts.gpus import Gpu
from orchestrator.fleet.looking import HostLook, look, standing
from orchestrator.programs.replicas import Deployed
from tests.fleet.links import SWITCHES
from tests.group.test_meeting import host


def card(index: int, used: int = 0, fault: str = "") -> Gpu:
    return Gpu(index, "H200", f"GPU-{index}", "9.0", 143_771, used, "580", None, (fault,) if fault else ())


def deployed(name: str, port: int, *, cards: str = "", address: str = "127.0.0.1", **more: Any) -> Deployed:
    command = {
        "environment": {"CUDA_VISIBLE_DEVICES": cards} if cards else {},
        "note": {"endpoint": {"host": address, "port": port, "model": "m"}},
    }
    return Deployed(
        **{"instance": name, "launch": 1, "alive": True, "stopped": False, "command": command, **more}
    )


def looked(name: str, *there: Deployed, used: dict[int, int] | None = None, **more: Any) -> HostLook:
    cards = tuple(card(index, (used or {}).get(index, 0)) for index in range(8))
    addresses = host(name, ("eth0", f"10.0.0.{ord(name) - 96}/24", 1000))
    return HostLook(**{"host": name, "deployed": there, "addresses": addresses, "cards": cards, "links": SWITCHES, **more})  # fmt: skip


def test_replicas_are_known_by_what_was_started() -> None:
    there = [
        deployed("m-1", 8001, cards="0,1"),
        deployed("m-2", 8002, cards="2,3", alive=False),
        deployed("m-router", 8000),
    ]
    seen = standing("m", [looked("a", *there, used={0: 90_000, 1: 90_000, 5: 90_000})])
    assert [(replica.number, replica.cards) for replica in seen.replicas] == [(1, (0, 1)), (2, (2, 3))]
    assert seen.alive == {1}
    assert seen.router == there[2]
    (room,) = seen.rooms
    assert (room.address, room.cards, room.held) == ("127.0.0.1", (0, 1, 2, 3, 4, 6, 7), (5,))


def test_the_last_ones_that_were_stopped_are_none_of_the_fleet_while_others_are() -> None:
    """After three replicas were made two, a restart of all brought the third back, and the state said degraded."""
    ended = {"alive": False, "stopped": True}
    one, two = (deployed(f"m-{n}", 8000 + n, cards=str(n), **ended) for n in (1, 2))
    three, four = deployed("m-3", 8003, cards="3"), deployed("m-4", 8004, cards="4", **ended)
    seen = standing("m", [looked("a", one, two, three, four)])
    assert ([each.number for each in seen.replicas], [each.number for each in seen.ended]) == ([1, 2, 3], [4])
    assert [each.number for each in seen.keeping(1)] == [1, 2, 3, 4]  # its place is known
    assert len(standing("m", [looked("a", one, two)]).replicas) == 2  # all were stopped: that is the fleet


def test_on_other_hosts_than_the_routers_they_answer_in_a_common_network() -> None:
    seen = standing("m", [looked("a"), looked("b", deployed("m-7", 8007, address="10.0.0.2"))])
    assert [room.address for room in seen.rooms] == ["127.0.0.1", "10.0.0.2"]
    assert seen.replicas[0].url == "http://10.0.0.2:8007"
    assert seen.router is None


def test_a_record_that_says_no_place_is_none_of_a_replica() -> None:
    for command in (None, {}, {"note": None}, {"note": {"endpoint": {"host": 1, "port": "8001"}}}):
        seen = standing("m", [looked("a", deployed("m-1", 1, command=command))])
        assert seen.replicas == ()


def test_a_card_that_cannot_be_used_is_no_room() -> None:
    cards = (card(0), card(1, fault="memory.total: [GPU requires reset]"))
    (room,) = standing("m", [looked("a", cards=cards, links=None)]).rooms
    assert (room.cards, room.held) == ((0,), ())


def test_two_names_of_one_machine_are_noticed() -> None:
    own = deployed("m-1", 8001)
    with pytest.raises(HostError, match="m-1 is on a and on b: one machine may be named twice"):
        standing("m", [looked("a", own), looked("b", own)])


def test_the_router_stays_on_its_host_whichever_is_named_first() -> None:
    router = deployed("m-router", 8000)
    old = deployed("m-router", 8000, alive=False)
    seen = standing("m", [looked("a", old), looked("b", router)])
    assert ([room.name for room in seen.rooms], seen.router) == (["b", "a"], router)
    assert [room.address for room in seen.rooms] == ["127.0.0.1", "10.0.0.1"]
    assert seen.front == ("127.0.0.1", 8000)
    assert standing("m", [looked("a", old)]).front is None


def test_a_replica_that_ended_keeps_its_place_as_long_as_nobody_has_its_cards() -> None:
    ended = deployed("m-1", 8001, cards="0,1", alive=False)
    living = deployed("m-2", 8002, cards="2,3")
    seen = standing("m", [looked("a", ended, living, used={2: 90_000, 3: 90_000})])
    assert [replica.number for replica in seen.keeping(2)] == [1, 2]
    assert [replica.number for replica in seen.keeping(4)] == [2]
    taken = standing("m", [looked("a", ended, living, used={1: 90_000})])
    assert [replica.number for replica in taken.keeping(2)] == [2]


@pytest.mark.parametrize(
    ("cards", "each"), [(("0,1", "2,3"), 2), (("0,1", "2"), None), (("", ""), 0), ((), None)]
)
def test_how_many_cards_each_has(cards: tuple[str, ...], each: int | None) -> None:
    there = [deployed(f"m-{number}", 8000 + number, cards=text) for number, text in enumerate(cards, 1)]
    assert standing("m", [looked("a", *there)]).cards == each


def test_where_it_was_once_counts_for_nothing_where_it_lives_elsewhere() -> None:
    once, now = deployed("m-1", 8001, cards="0,1", alive=False), deployed("m-1", 8001, cards="2,3")
    for looks in ([looked("a", once), looked("b", now)], [looked("b", now), looked("a", once)]):
        (replica,) = standing("m", looks).replicas
        assert (replica.host, replica.cards) == ("b", (2, 3))


def test_a_host_is_asked_once() -> None:
    class Asked:
        name = "a"

        def __init__(self) -> None:
            self.programs: list[str] = []

        def script(self, program: str, request: dict[str, Any], **_: Any) -> Any:
            self.programs.append(program)
            replies = {name: {"missing": "nvidia-smi"} for name in request["facts"]["commands"]}
            place = {"hostname": "a", "place": ["m", "b", "/state"], "addresses": []}
            return {"deployments": [], "addresses": place, "facts": replies}

    asked = Asked()
    seen = look(asked, "m")  # type: ignore[arg-type]
    assert (asked.programs, seen.cards, seen.links) == (["replicas"], (), None)
