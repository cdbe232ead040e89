"""How are collectives of the cards of several hosts measured: which part has each host, and which pair cannot talk?"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from orchestrator.base.events import Report
from orchestrator.checks.between.collective import MeasuredBetween, check, joined
from orchestrator.checks.between.group_check import GroupCheck
from orchestrator.checks.check import Check
from orchestrator.checks.collective import SUBJECT
from orchestrator.engines import registry
from orchestrator.facts.saved import Saved
from orchestrator.loop.collective import (
    PAIRS_SECONDS,
    READY_SECONDS,
    SILENT_SECONDS,
    USUAL_SECONDS,
    Probe,
    prepared,
    python_of,
)
from orchestrator.loop.reach import Party
from orchestrator.loop.side_by_side import side_by_side
from orchestrator.on_host.programs.collective import rounds
from orchestrator.plan import collective
from orchestrator.plan.collective import MIDDLE, SMALL, in_words, well
from orchestrator.playbook.playbook import Playbook
from orchestrator.programs.ask import Answers
from orchestrator.programs.collective import (
    CollectiveMeeting,
    CollectiveNews,
    CollectiveOutcome,
    CollectiveRun,
    MeasureCollective,
    rank_program,
)

LARGE, LARGE_ON_CPU = 32 << 20, 4 << 20
"""Bytes: some 25 all-reduces are to be done on a network of 1 Gbit/s before they count as standing still."""
GRACE_SECONDS = 5.0
"""How long ranks of other hosts may go on once those of one have failed: they may know more of it."""


@dataclass(frozen=True)
class Seat:
    """A host's part: its cards as they are named to CUDA, or one process where there are none."""

    party: Party
    probe: Probe
    ranks: tuple[str, ...]
    backend: Literal["nccl", "gloo"]


def measure(
    parties: Sequence[Party], saved: Sequence[Saved], playbook: Playbook | None, report: Report
) -> tuple[tuple[GroupCheck, ...], MeasuredBetween | None]:
    """The checks that a test over all hosts comes to, and what it measured; None where nothing could be."""
    cards = any(each.facts.cards for each in saved)
    seats = []
    for party, each in zip(parties, saved, strict=True):
        seat = _seat(party, each, playbook, cards=cards)
        if isinstance(seat, Check):
            words = f"{party.host.name}: {seat.sentence}"
            return (GroupCheck(SUBJECT, seat.verdict, words, seat.mend, "collective_failed"),), None
        seats.append(seat)
    ranks = sum(len(seat.ranks) for seat in seats)
    sizes = (SMALL, MIDDLE, LARGE if cards else LARGE_ON_CPU)
    words = f"all-reduce over {ranks} ranks of {len(seats)} hosts"
    with report.step("collective", words, limit=USUAL_SECONDS) as step:
        outcome = _together(seats, sizes)
        step.done = in_words(outcome, ranks)
        suspect = not well(outcome) and outcome.at != "starting" and len(seats) > 2
        pairs = _pairs(seats) if suspect else {}
    result = MeasuredBetween(ranks, cards, outcome, pairs)
    return tuple(check(result, [seat.party.host.name for seat in seats])), result


def _seat(party: Party, saved: Saved, playbook: Playbook | None, *, cards: bool) -> Seat | Check:
    node = party.node
    if cards:
        probe = prepared(saved, playbook and playbook.as_node(node), fewest=1)
        if isinstance(probe, Check):
            return probe
    else:
        footprint = (playbook.kind if playbook else registry.get(registry.USUAL)).footprint
        probe = Probe((), python_of(saved.facts, playbook), _plain(playbook), {}, footprint)
    way = {"GLOO_SOCKET_IFNAME": node.interface, "NCCL_SOCKET_IFNAME": node.interface}
    probe = replace(probe, environment={**way, **probe.environment})
    return Seat(party, probe, tuple(card.uuid for card in probe.cards) or ("",), "nccl" if cards else "gloo")


def _plain(playbook: Playbook | None) -> Mapping[str, str]:
    environment = playbook.environment if playbook else {}
    return {name: item.value for name, item in environment.items() if isinstance(item.value, str)}


def _together(seats: Sequence[Seat], sizes: Sequence[int]) -> CollectiveOutcome:
    """What comes of one collective over all of them."""
    head = seats[0].party.node
    ranks = sum(len(seat.ranks) for seat in seats)
    firsts = itertools.accumulate((len(seat.ranks) for seat in seats), initial=0)
    with ExitStack() as until_end:
        asked: dict[str, Answers[CollectiveNews]] = {}
        for seat, first in zip(seats, firsts, strict=False):
            meeting = CollectiveMeeting(address=head.address, port=head.port, first=first, ranks=ranks)
            answers = Answers(seat.party.host, _request(seat, sizes, meeting))
            until_end.callback(answers.close)
            asked[seat.party.host.name] = answers
        ends = side_by_side([partial(_outcome, answers, tuple(asked.values())) for answers in asked.values()])
    return joined(dict(zip(asked, ends, strict=True)))


def _outcome(
    answers: Answers[CollectiveNews], everybody: Sequence[Answers[CollectiveNews]]
) -> CollectiveOutcome | None:
    """That of one host's ranks; None where they were ended since those of another had failed."""
    outcome = next((item.outcome for item in answers.values() if item.outcome is not None), None)
    if outcome is not None and not well(outcome):
        ending = threading.Timer(GRACE_SECONDS, _close, [everybody])
        ending.daemon = True
        ending.start()
    return outcome


def _close(everybody: Sequence[Answers[CollectiveNews]]) -> None:
    for each in everybody:
        each.close()


def _pairs(seats: Sequence[Seat]) -> dict[tuple[str, str], CollectiveOutcome]:
    """What comes of each pair of hosts by itself, by a card of each; pairs without a host in common side by side."""
    alone = [replace(seat, ranks=seat.ranks[:1]) for seat in seats]
    give_up = time.monotonic() + PAIRS_SECONDS
    outcomes: dict[tuple[str, str], CollectiveOutcome] = {}
    for pairs in rounds(len(alone)):
        if time.monotonic() > give_up:
            break
        ends = side_by_side([partial(_together, [alone[a], alone[b]], ()) for a, b in pairs])
        names = [(alone[a].party.host.name, alone[b].party.host.name) for a, b in pairs]
        outcomes.update(zip(names, ends, strict=True))
    return outcomes


def _request(seat: Seat, sizes: Sequence[int], meeting: CollectiveMeeting) -> MeasureCollective:
    probe = seat.probe
    return MeasureCollective(
        python=probe.python,
        text=rank_program(),
        backend=seat.backend,
        cards=seat.ranks,
        environment=probe.environment,
        runs=(CollectiveRun(name=collective.TUNED, variables=probe.variables),),
        fallback=None,
        sizes=tuple(sizes),
        ready_seconds=READY_SECONDS,
        silent_seconds=SILENT_SECONDS,
        pairs_seconds=PAIRS_SECONDS,
        footprint=probe.footprint,
        meeting=meeting,
    )
