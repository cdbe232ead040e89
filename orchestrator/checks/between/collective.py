"""What did a collective over all hosts come to, and which pair of them cannot take part?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.checks.between.group_check import GroupCheck, named
from orchestrator.checks.collective import SUBJECT
from orchestrator.plan.collective import as_json, in_words, well
from orchestrator.programs.collective import CollectiveOutcome, Timing

_AT = ("starting", "ready", "checked")


@dataclass(frozen=True)
class MeasuredBetween:
    """What came of a collective over `ranks` cards, or processors, of several hosts, and of pairs of hosts where it failed."""

    ranks: int
    cards: bool
    outcome: CollectiveOutcome
    pairs: Mapping[tuple[str, str], CollectiveOutcome]

    def as_json(self) -> dict[str, Any]:
        pairs = [{"hosts": list(pair), **as_json(outcome, 2)} for pair, outcome in self.pairs.items()]
        return {"ranks": self.ranks, "cards": self.cards, **as_json(self.outcome, self.ranks), "pairs": pairs}


def joined(outcomes: Mapping[str, CollectiveOutcome | None]) -> CollectiveOutcome:
    """That of all ranks, by what came of those of each host; None of one that was left because others had failed. Who failed by
    itself knows more than who waited for it."""
    known = {host: outcome for host, outcome in outcomes.items() if outcome is not None}
    bad = [(host, outcome) for host, outcome in known.items() if outcome.state != "done"]
    bad.sort(key=lambda item: (item[1].state != "failed", _AT.index(item[1].at)))
    host, worst = bad[0] if bad else next(iter(known.items()))
    timings: dict[int, list[float]] = {}
    for outcome in known.values():
        for timing in outcome.measured:
            timings.setdefault(timing.bytes, []).append(timing.seconds)
    return worst.model_copy(
        update={
            "wrong": sum(outcome.wrong for outcome in known.values()),
            "reason": f"{host}: {worst.reason}" if worst.reason else None,
            "measured": tuple(
                Timing(bytes=size, seconds=max(seconds))
                for size, seconds in sorted(timings.items())
                if len(seconds) == len(outcomes)
            ),
            "lines": tuple(line for outcome in known.values() for line in outcome.lines),
            "left": (),
        }
    )


def check(result: MeasuredBetween, hosts: Sequence[str]) -> Iterator[GroupCheck]:
    """The numbers; or how it failed, then each pair of hosts that cannot do it by itself."""
    outcome = result.outcome
    what = "GPUs" if result.cards else "processes on CPUs"
    words = f"all-reduce over {result.ranks} {what} of {named(hosts)}: {in_words(outcome, result.ranks)}"
    if well(outcome):
        yield GroupCheck(SUBJECT, "pass", words)
        return
    last = f"; NCCL says: {outcome.lines[-1]}" if outcome.lines else ""
    mend = "ibstat; ibv_devinfo; ip -br address" if result.cards and outcome.at != "starting" else None
    yield GroupCheck(SUBJECT, "fail", f"{words}{last}", mend, "collective_failed")
    bad = {pair: each for pair, each in result.pairs.items() if not well(each)}
    for (first, second), each in bad.items():
        yield GroupCheck(
            "pair", "fail", f"{first} and {second}: {in_words(each, 2)}", mend, "collective_failed"
        )
    if result.pairs and not bad:
        yield GroupCheck("pair", "warn", f"each of {len(result.pairs)} pairs of hosts does well by itself")
