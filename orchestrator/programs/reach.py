"""Which ports does a host listen on for the others of its group, and which of theirs does it reach?"""

from __future__ import annotations

from typing import Literal

from orchestrator.programs.listener import PortOwner
from orchestrator.programs.request import Request, Value

DialOutcome = Literal["open", "refused", "dropped", "no_way", "another", "stuck"]


class Listens(Value):
    """The ports that are listened on, the meeting port last; `taken` says who has that instead. `mtu` is the interface's,
    `clock` the host's."""

    ports: tuple[int, ...]
    taken: PortOwner | None
    mtu: int | None
    clock: float


class Dialled(Value):
    """What came of dialling one port of another host, after so many seconds."""

    name: str
    port: int
    outcome: DialOutcome
    reason: str | None
    """The kernel's words."""
    seconds: float


class Reached(Value):
    """`half`: addresses whose packets come, and whose answers are lost."""

    reached: tuple[Dialled, ...]
    half: tuple[str, ...]


class Other(Value):
    """Another host: where it listens, and the word by which it is known."""

    name: str
    address: str
    ports: tuple[int, ...]
    word: str


class Others(Value):
    """What the program is told on a line of its input once all of them listen."""

    others: tuple[Other, ...]


class Reach(Request[Listens | Reached]):
    """The program yields twice, and ends with its input."""

    program = "reach"

    address: str
    interface: str
    count: int
    meeting: int | None
    members: tuple[int, ...]
    word: str
    dial_seconds: float
    seconds: float
