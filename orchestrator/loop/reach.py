"""Do the hosts of a group reach each other, before anything is started on them? Each listens for a moment, and dials all others."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from orchestrator.base.errors import HostError
from orchestrator.checks.between.reach import Neighbour
from orchestrator.engines.node import Node
from orchestrator.hosts.host import Host
from orchestrator.loop.side_by_side import side_by_side
from orchestrator.programs.ask import Answers
from orchestrator.programs.reach import Listens, Other, Others, Reach, Reached

PORTS = 2
"""How many that the kernel chooses are tried beside the meeting port: ranks take some twenty a host."""
DIAL_SECONDS = 3.5
"""Two repetitions of what opens a connection (after 1 and 3 s): a packet may be lost, three are dropped."""
SECONDS = 60.0


@dataclass(frozen=True)
class Party:
    """A host, which part it has, and the processes of our own launch there."""

    host: Host
    node: Node
    members: tuple[int, ...] = ()


def reached(parties: Sequence[Party]) -> dict[str, Neighbour]:
    """How each host of a group stands among the others, by its name; all dial at once, which takes as long as one that is
    dropped, however many there are. Nothing stays open."""
    with ExitStack() as until_end:
        ends = side_by_side([partial(_End, party, until_end) for party in parties])
        others = [
            Other(
                name=end.party.host.name,
                address=end.party.node.address,
                ports=end.listens.ports,
                word=end.word,
            )
            for end in ends
        ]
        dialled = side_by_side(
            [partial(end.dial, [other for other in others if other.word != end.word]) for end in ends]
        )
    return {
        end.party.host.name: Neighbour(
            end.party.node.address,
            end.party.node.interface,
            end.listens.mtu,
            end.ahead,
            end.unsure,
            end.listens.taken,
            answer.reached,
            answer.half,
        )
        for end, answer in zip(ends, dialled, strict=True)
    }


class _End:
    """One host that listens."""

    def __init__(self, party: Party, until_end: ExitStack) -> None:
        self.party = party
        self.word = secrets.token_hex(8)
        request = Reach(
            address=party.node.address,
            interface=party.node.interface,
            count=PORTS,
            meeting=party.node.port if party.node.rank == 0 else None,
            members=party.members,
            word=self.word,
            dial_seconds=DIAL_SECONDS,
            seconds=SECONDS,
        )
        began = time.time()
        self._stream = Answers(party.host, request)
        until_end.callback(self._stream.close)
        self._answers: Iterator[Listens | Reached] = self._stream.values()
        listens = self._next()
        ended = time.time()
        assert isinstance(listens, Listens)
        self.listens = listens
        self.ahead = listens.clock - (began + ended) / 2
        self.unsure = (ended - began) / 2

    def dial(self, others: Sequence[Other]) -> Reached:
        """What comes of dialling these."""
        self._stream.write(Others(others=tuple(others)).model_dump_json().encode() + b"\n")
        answer = self._next()
        assert isinstance(answer, Reached)
        return answer

    def _next(self) -> Listens | Reached:
        answer = next(self._answers, None)
        if answer is None:
            name = self.party.host.name
            raise HostError("host_answer", f"reach on {name} ended without an answer", program="reach")
        return answer
