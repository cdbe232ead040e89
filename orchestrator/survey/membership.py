"""With which other hosts does a launch serve one model, as its record says?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

_LONGEST = 256
_MOST = 1024


@dataclass(frozen=True)
class Membership:
    """A host's part in a launch over several: their names as they were typed, the head's first, and which of them it is.

    `serves` tells whether requests are answered there, `address` by which one the others meet it ("" in older records).
    """

    hosts: tuple[str, ...]
    rank: int
    serves: bool
    address: str = ""

    @property
    def role(self) -> str:
        """A word for people."""
        return f"worker {self.rank}" if self.rank else "head"

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "hosts": list(self.hosts)}


def membership(command: Mapping[str, Any] | None) -> Membership | None:
    """What the record of a launch says of it; None for a launch on one host, and for a record that nobody here wrote."""
    return of_note(((command or {}).get("note") or {}).get("group"))


def of_note(group: Any) -> Membership | None:
    """What a record says of the group of its launch, where somebody here wrote it."""
    if not isinstance(group, Mapping):
        return None
    hosts, rank, serves = (group.get(key) for key in ("hosts", "rank", "serves"))
    address = group.get("address", "")
    if not isinstance(hosts, list) or not all(isinstance(host, str) and host for host in hosts):
        return None
    if not 1 < len(hosts) <= _MOST or any(len(host) > _LONGEST for host in hosts):
        return None
    if type(rank) is not int or not 0 <= rank < len(hosts) or type(serves) is not bool:
        return None
    if not isinstance(address, str) or len(address) > _LONGEST:
        return None
    return Membership(tuple(hosts), rank, serves, address)


def part(memberships: Iterable[Membership | None], names: Collection[str]) -> Membership | None:
    """One whose group has more hosts than these, which were called so; None where each is there as a whole, or serves alone.

    By another name a host is known for the same by its record alone.
    """
    known = [each for each in memberships if each is not None]
    there = Counter(each.hosts for each in known)
    lacking = (each for each in known if there[each.hosts] < len(each.hosts))
    return next((each for each in lacking if not set(each.hosts) <= set(names)), None)
