"""Which pair cannot talk, and at which of the two the cause is sought."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.checks.between import reach
from orchestrator.checks.between.reach import Neighbour
from orchestrator.programs.listener import PortOwner
from orchestrator.programs.reach import Dialled, DialOutcome

MEETING = 29501
OPEN = {"a": (41000, MEETING), "b": (42000,), "c": (43000,)}
ADDRESSES = {"a": "10.0.0.1", "b": "10.0.0.2", "c": "10.0.0.3"}


def places(names: str = "ab", **outcomes: DialOutcome) -> dict[str, Neighbour]:
    """Hosts that reach each other, but for `outcomes`: "ab" for all ports of b by a, "ba_meeting" for the one port."""

    def dialled(source: str, target: str, port: int) -> Dialled:
        own = f"{source}{target}_meeting" if port == MEETING else f"{source}{target}_chosen"
        outcome = outcomes.get(f"{source}{target}", outcomes.get(own, "open"))
        reason = {"refused": "Connection refused", "no_way": "Network is unreachable"}.get(outcome)
        return Dialled(name=target, port=port, outcome=outcome, reason=reason, seconds=0.0004)

    return {
        name: Neighbour(
            ADDRESSES[name],
            "eth0",
            1500,
            0.0,
            0.1,
            None,
            tuple(dialled(name, other, port) for other in names if other != name for port in OPEN[other]),
        )
        for name in names
    }


def failing(hosts: dict[str, Neighbour]) -> list[tuple[str, str | None]]:
    return [(each.sentence, each.mend) for each in reach.check(hosts, MEETING) if each.verdict == "fail"]


def test_hosts_that_reach_each_other_pass() -> None:
    told = [(check.subject, check.verdict, check.sentence) for check in reach.check(places(), MEETING)]
    assert told == [
        ("reach", "pass", "each reaches each other on eth0 (10.0.0.1, ...), within 0.4 ms"),
        ("clocks", "pass", "agree"),
    ]


@pytest.mark.parametrize(
    ("outcome", "half", "words", "mend"),
    [
        (
            "ab",
            "",
            "a (10.0.0.1) cannot reach b (10.0.0.2): every port is dropped, nothing comes back: by a firewall of b or on the way",
            "sudo iptables -I INPUT -s 10.0.0.1 -j ACCEPT  # on b",
        ),
        (
            "ab",
            "b",
            "a (10.0.0.1) cannot reach b (10.0.0.2): every port is dropped, nothing comes back: by a firewall of a or on the way",
            "sudo iptables -I INPUT -s 10.0.0.2 -j ACCEPT  # on a",
        ),
        (
            "ba_meeting",
            "",
            "b (10.0.0.2) cannot reach a (10.0.0.1): port 29501, on which ranks are met, is dropped",
            "sudo iptables -I INPUT -s 10.0.0.2 -j ACCEPT  # on a",
        ),
        (
            "ba_chosen",
            "",
            "b (10.0.0.2) cannot reach a (10.0.0.1): a port that the kernel chooses, as ranks take them, is dropped",
            None,
        ),
    ],
)
def test_what_is_dropped_is_sought_where_it_does_not_come(
    outcome: str, half: str, words: str, mend: str | None
) -> None:
    hosts = places(**{outcome: "dropped"})
    if half:
        hosts[half] = replace(hosts[half], half=("10.0.0.1",))
    ((sentence, command),) = failing(hosts)
    assert sentence.startswith(words)
    assert command == mend or mend is None


@pytest.mark.parametrize(
    ("outcome", "words", "mend"),
    [
        ("refused", "every port is refused by a firewall, for it is listened on (Connection refused)", "sudo iptables -I INPUT -s 10.0.0.1 -j ACCEPT  # on b"),
        ("no_way", "every port is not dialled at all (Network is unreachable)", "ip route get 10.0.0.2  # on a"),
        ("another", "every port is answered by another machine, which has the same address", "ip neighbour show 10.0.0.2  # on a"),
        ("stuck", "every port is stuck: connections come about, and full packets do not get through (MTU)", "ping -M do -s 1472 10.0.0.1  # on b"),
    ],
)  # fmt: skip
def test_each_way_to_fail_has_its_words_and_its_command(outcome: DialOutcome, words: str, mend: str) -> None:
    ((sentence, command),) = failing(places(ab=outcome))
    assert sentence == f"a (10.0.0.1) cannot reach b (10.0.0.2): {words}"
    assert command == mend


def test_a_host_that_nobody_reaches_is_told_once() -> None:
    lost = places("abc", ac="dropped", bc="dropped", ca="dropped", cb="dropped")
    lost |= {name: replace(lost[name], half=("10.0.0.3",)) for name in "ab"}
    ((sentence, command),) = failing(lost)
    assert sentence.startswith("c (10.0.0.3) and a and b do not reach each other: every port is dropped")
    assert command == "sudo iptables -I INPUT -s 10.0.0.1 -j ACCEPT  # on c"


def test_who_has_the_meeting_port_is_named_unless_it_is_ours() -> None:
    hosts = places()
    owner = PortOwner(ours=False, pid=812, command="python3 train.py", user="eve", since=None)
    hosts["a"] = replace(hosts["a"], taken=owner)
    (check,) = [each for each in reach.check(hosts, MEETING, "master-port") if each.verdict == "fail"]
    assert (check.code, check.known) == ("meeting_port_taken", {"argument": "master-port=29502"})
    assert (
        check.sentence
        == "port 29501 of a, on which ranks are met, is taken by pid 812 (python3 train.py, user eve)"
    )
    hosts["a"] = replace(hosts["a"], taken=owner.model_copy(update={"ours": True}))
    assert failing(hosts) == []


@pytest.mark.parametrize(("ahead", "unsure", "verdict"), [(1.9, 0.0, "pass"), (2.5, 0.1, "warn"), (2.5, 0.4, "pass"), (-90.0, 0.1, "warn")])  # fmt: skip
def test_clocks_that_are_surely_apart_are_told(ahead: float, unsure: float, verdict: str) -> None:
    hosts = places()
    hosts["b"] = replace(hosts["b"], ahead=ahead, unsure=unsure)
    *_, last = reach.check(hosts, MEETING)
    assert last.verdict == verdict
    if ahead < 0:
        assert last.sentence.startswith("that of a is 1m30s ahead of that of b")


def test_packets_of_different_sizes_are_told() -> None:
    hosts = places()
    hosts["a"] = replace(hosts["a"], mtu=9000)
    (check,) = [each for each in reach.check(hosts, MEETING) if each.verdict == "warn"]
    assert check.mend == "sudo ip link set dev eth0 mtu 1500  # on a"
    assert check.sentence.startswith("9000 on a, 1500 on b")
