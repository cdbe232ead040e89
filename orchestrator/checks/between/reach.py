"""Which hosts do not reach each other, what is in between, and do their clocks agree?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.base.amounts import duration
from orchestrator.checks.between.group_check import GroupCheck, alike, apart, named
from orchestrator.programs.listener import PortOwner
from orchestrator.programs.reach import Dialled, DialOutcome

SUBJECT = "reach"
MOST_SECONDS = 2.0
"""How far the clocks of hosts may be apart: what failed first is judged by our clock, the times in two logs by theirs."""
_HOW: Mapping[DialOutcome, str] = {
    "refused": "refused by a firewall, for it is listened on ({reason})",
    "dropped": "dropped, nothing comes back",
    "no_way": "not dialled at all ({reason})",
    "another": "answered by another machine, which has the same address",
    "stuck": "stuck: connections come about, and full packets do not get through (MTU)",
}


@dataclass(frozen=True)
class Neighbour:
    """Where a host is met, and how it stood when it was asked."""

    address: str
    interface: str
    mtu: int | None
    ahead: float
    """Seconds by which its clock is ahead of ours, give or take `unsure`."""
    unsure: float
    taken: PortOwner | None
    """Who has the meeting port, where that is not ours to listen on."""
    dialled: tuple[Dialled, ...]
    half: tuple[str, ...] = ()
    """Addresses whose packets come here, and whose answers are lost."""


@dataclass(frozen=True)
class _Failure:
    """A host that does not reach another: what is in between, and at which of them it is sought."""

    source: str
    target: str
    outcome: DialOutcome
    how: str
    at_source: bool

    @property
    def place(self) -> str:
        return self.source if self.at_source else self.target

    @property
    def other(self) -> str:
        return self.target if self.at_source else self.source


def check(places: Mapping[str, Neighbour], meeting: int, option: str | None = None) -> Iterator[GroupCheck]:
    """Every pair that does not reach each other; the port on which ranks are met, which this `option` moves; MTU and clocks."""
    yield from _taken(places, meeting, option)
    apart_ = list(_pairs(places, meeting))
    yield from apart_
    if not apart_:
        slowest = max((each.seconds for place in places.values() for each in place.dialled), default=0)
        words = f"each reaches each other on {_networks(places)}, within {slowest * 1e3:.1f} ms"
        yield GroupCheck(SUBJECT, "pass", words)
    yield from _mtu(places)
    yield from _clocks(places)


def _taken(places: Mapping[str, Neighbour], meeting: int, option: str | None) -> Iterator[GroupCheck]:
    for name, place in places.items():
        owner = place.taken
        if owner is None or owner.ours:
            continue
        who = f"pid {owner.pid} ({owner.command}, user {owner.user})" if owner.pid else f"user {owner.user}"
        words = f"port {meeting} of {name}, on which ranks are met, is taken by {who}"
        known = {"argument": f"{option}={meeting + 1}"} if option else {}
        yield GroupCheck("meeting port", "fail", words, None, "meeting_port_taken", known)


def _pairs(places: Mapping[str, Neighbour], meeting: int) -> Iterator[GroupCheck]:
    """One for what is the same of several pairs: a host that nobody reaches is told once."""
    failures = [failure for source in places for failure in _failures(source, places, meeting)]
    alike_: dict[tuple[str, DialOutcome, str], list[_Failure]] = {}
    for failure in sorted(failures, key=lambda failure: list(_HOW).index(failure.outcome)):
        alike_.setdefault((failure.place, failure.outcome, failure.how), []).append(failure)
    for (place, outcome, how), those in alike_.items():
        into = {failure.other for failure in those if failure.target == place}
        out = {failure.other for failure in those if failure.source == place}
        for others, words in (
            (into & out, "{place} and {others} do not reach each other"),
            (into - out, "{others} cannot reach {place}"),
            (out - into, "{place} cannot reach {others}"),
        ):
            if others:
                sentence = words.format(place=_at(place, places), others=_named(sorted(others), places))
                mend = _mend(outcome, place, places[min(others)])
                yield GroupCheck(SUBJECT, "fail", f"{sentence}: {how}", mend, "hosts_apart")


def _failures(source: str, places: Mapping[str, Neighbour], meeting: int) -> Iterator[_Failure]:
    at = places[source]
    for target in places:
        tried = [each for each in at.dialled if each.name == target]
        for outcome in dict.fromkeys(each.outcome for each in tried):
            if outcome == "open":
                continue
            those = [each for each in tried if each.outcome == outcome]
            how = _HOW[outcome].format(reason=those[0].reason)
            # what is dropped is dropped by whom it does not come to, its answer by whom that does not
            answered = outcome == "dropped" and at.address in places[target].half
            at_source = answered or outcome in ("no_way", "another")
            if outcome == "dropped":
                how += f": by a firewall of {source if at_source else target} or on the way"
            ports = _ports([each.port for each in those], len(tried), meeting)
            yield _Failure(source, target, outcome, f"{ports} {how}", at_source)


def _ports(ports: Sequence[int], tried: int, meeting: int) -> str:
    if len(ports) == tried:
        return "every port is"
    if list(ports) == [meeting]:
        return f"port {meeting}, on which ranks are met, is"
    return "a port that the kernel chooses, as ranks take them, is"


def _at(name: str, places: Mapping[str, Neighbour]) -> str:
    return f"{name} ({places[name].address})"


def _named(hosts: Sequence[str], places: Mapping[str, Neighbour]) -> str:
    return _at(hosts[0], places) if len(hosts) == 1 else named(hosts)


def _mend(outcome: DialOutcome, name: str, other: Neighbour) -> str:
    """What is typed on the host at which it is sought."""
    if outcome == "stuck":
        return f"ping -M do -s 1472 {other.address}  # on {name}"
    if outcome == "another":
        return f"ip neighbour show {other.address}  # on {name}"
    if outcome == "no_way":
        return f"ip route get {other.address}  # on {name}"
    return f"sudo iptables -I INPUT -s {other.address} -j ACCEPT  # on {name}"


def _networks(places: Mapping[str, Neighbour]) -> str:
    interfaces = dict.fromkeys(place.interface for place in places.values())
    return f"{' and '.join(interfaces)} ({next(iter(places.values())).address}, ...)"


def _mtu(places: Mapping[str, Neighbour]) -> Iterator[GroupCheck]:
    sizes = alike({name: place.mtu for name, place in places.items() if place.mtu is not None})
    if len(sizes) > 1:
        low, high = min(sizes), max(sizes)
        odd = high[1][0]
        mend = f"sudo ip link set dev {places[odd].interface} mtu {low[0]}  # on {odd}"
        words = f"{apart(sizes)}: full packets of the larger ones may be lost"
        yield GroupCheck("MTU", "warn", words, mend)


def _clocks(places: Mapping[str, Neighbour]) -> Iterator[GroupCheck]:
    first, last = (pick(places, key=lambda name: places[name].ahead) for pick in (min, max))
    between = places[last].ahead - places[first].ahead
    if between - places[last].unsure - places[first].unsure <= MOST_SECONDS:
        yield GroupCheck("clocks", "pass", "agree")
        return
    words = f"that of {last} is {duration(between)} ahead of that of {first}: the times in their logs are so far apart"
    yield GroupCheck("clocks", "warn", words, f"sudo timedatectl set-ntp true  # on {first} and {last}")
