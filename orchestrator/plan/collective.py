"""What did collectives of a host's GPUs come to, with the variables of NCCL that are planned and without them? Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from orchestrator.facts.gpus import Gpu
from orchestrator.programs.collective import CollectiveNews, CollectiveOutcome, Timing
from orchestrator.programs.journal import CollectiveRecord

SMALL, MIDDLE, LARGE = 8 << 10, 256 << 10, 128 << 20
"""Bytes: one token's worth of a large model, a small batch's, and what bandwidth is told by."""
TUNED, UNTUNED, FALLBACK = "tuned", "untuned", "without_p2p"
WITHOUT_P2P = {"NCCL_P2P_DISABLE": "1"}
_NOISE = 0.08
"""The share by which two runs of the same may differ."""

Worth = Literal["keep", "leave_out", "mixed", "nothing_set", "broken"]


def bus_gb_per_s(timing: Timing, ranks: int) -> float:
    """The bus bandwidth of an all-reduce as nccl-tests define it: bytes / seconds x 2 (n - 1) / n, in 10^9 bytes a second."""
    return timing.bytes / timing.seconds * 2 * (ranks - 1) / ranks / 1e9


@dataclass(frozen=True)
class Measured:
    """What came of a test of these GPUs: by name of the run how it fared, and of pairs of GPUs that were tried by themselves."""

    numbers: tuple[int, ...]
    """The GPUs, as nvidia-smi numbers them."""
    uuids: tuple[str, ...]
    driver: str | None
    variables: Mapping[str, str]
    """Those of NCCL that are planned, and that the run `tuned` had."""
    outcomes: Mapping[str, CollectiveOutcome]
    pairs: tuple[tuple[int, int, CollectiveOutcome], ...] = ()
    untried: int = 0
    """Pairs for which there was no time."""

    @property
    def ranks(self) -> int:
        return len(self.numbers)

    @property
    def planned(self) -> CollectiveOutcome | None:
        """How it fares as it would be launched."""
        return self.outcomes.get(TUNED if self.variables else UNTUNED)

    @property
    def worth(self) -> Worth:
        """Whether the variables earn their place; slower small messages weigh as much as less bandwidth."""
        tuned, plain = self.outcomes.get(TUNED), self.outcomes.get(UNTUNED)
        if not self.variables:
            return "nothing_set" if plain is not None and well(plain) else "broken"
        if tuned is None or not well(tuned):
            return "leave_out" if plain is not None and well(plain) else "broken"
        if plain is None or not well(plain):
            return "keep"
        gains = [without.seconds / having.seconds for having, without in self._compared]
        better, worse = max(gains) > 1 + _NOISE, min(gains) < 1 - _NOISE
        return "mixed" if better and worse else "keep" if better else "leave_out"

    @property
    def sentence(self) -> str:
        """What was measured, and what follows."""
        names = " ".join(f"{name}={value}" for name, value in self.variables.items())
        tuned, plain = (self._words(name) for name in (TUNED, UNTUNED))
        what = f"all-reduce over {self.ranks} GPUs (bus bandwidth of 128 MiB, latency of 8 KiB)"
        if self.worth == "nothing_set":
            return f"{what}: {plain}; no variable of NCCL is planned"
        if not self.variables:
            return f"{what}: {plain}{self._instead()}"
        follows = {
            "keep": f"keep {names}",
            "mixed": f"{names} helps some sizes and harms others: measure the model with and without",
            "leave_out": f"leave {names} out",
            "broken": "",
        }[self.worth]
        if self._compared and self._alike:
            follows = f"no difference: {follows}"
        elif self._compared:
            follows = f"{self._most}: {follows}"
        return f"{what}: tuned {tuned}; untuned {plain}{f': {follows}' if follows else self._instead()}"

    @property
    def _compared(self) -> tuple[tuple[Timing, Timing], ...]:
        """What each size took with the variables and without, where both runs went well."""
        tuned, plain = self.outcomes.get(TUNED), self.outcomes.get(UNTUNED)
        if tuned is None or plain is None or not (well(tuned) and well(plain)):
            return ()
        return tuple(zip(tuned.measured, plain.measured, strict=True))

    @property
    def _alike(self) -> bool:
        return all(abs(plain.seconds / tuned.seconds - 1) <= _NOISE for tuned, plain in self._compared)

    @property
    def _most(self) -> str:
        """The size for which they matter most."""
        ratios = [max(a.seconds / b.seconds, b.seconds / a.seconds) for a, b in self._compared]
        tuned, plain = self._compared[ratios.index(max(ratios))]
        return f"{tuned.bytes >> 10:,} KiB in {tuned.seconds * 1e6:,.0f} us instead of {plain.seconds * 1e6:,.0f}"

    def _instead(self) -> str:
        fallback = self.outcomes.get(FALLBACK)
        if fallback is None:
            return ""
        return f"; with NCCL_P2P_DISABLE=1 {self._words(FALLBACK)}"

    def _words(self, name: str) -> str:
        outcome = self.outcomes.get(name)
        return "not tried" if outcome is None else in_words(outcome, self.ranks)

    @property
    def record(self) -> CollectiveRecord:
        """What goes on record of it."""
        return CollectiveRecord(
            uuids=self.uuids,
            driver=self.driver,
            variables=self.variables,
            worth=self.worth,
            sentence=self.sentence,
        )

    def as_json(self) -> dict[str, Any]:
        """By name of the run `bus_gb_per_s` (of the largest size) and `latency_us` (of the smallest), null where it did not end
        well, beside all that was measured."""
        return {
            "gpus": list(self.numbers),
            "uuids": list(self.uuids),
            "driver": self.driver,
            "variables": dict(self.variables),
            "worth": self.worth,
            "sentence": self.sentence,
            "runs": {name: as_json(outcome, self.ranks) for name, outcome in self.outcomes.items()},
            "pairs": [{"gpus": [a, b], **as_json(outcome, 2)} for a, b, outcome in self.pairs],
            "pairs_untried": self.untried,
        }


def holding(
    record: CollectiveRecord | None, cards: Sequence[Gpu], variables: Mapping[str, str]
) -> CollectiveRecord | None:
    """The measurement that is on record, where it is of these cards, of their driver as it is now and of these variables of NCCL."""
    if record is None or not cards or record.variables != variables:
        return None
    same = set(record.uuids) == {card.uuid for card in cards} and record.driver == cards[0].driver
    return record if same else None


def well(outcome: CollectiveOutcome) -> bool:
    """Whether it came to its end, and every sum was right."""
    return outcome.state == "done" and not outcome.wrong


def in_words(outcome: CollectiveOutcome, ranks: int) -> str:
    """How a run fared, in a few words."""
    if outcome.state == "silent":
        where = {"starting": "while torch was imported", "ready": "at the first sum", "checked": "later on"}
        return f"stood still {where[outcome.at]}"
    if outcome.state == "failed":
        return f"failed ({outcome.reason})"
    if outcome.wrong:
        return f"added up wrongly ({outcome.wrong:,} numbers)"
    if not outcome.measured:
        return "went well"
    small, large = outcome.measured[0], outcome.measured[-1]
    return f"{bus_gb_per_s(large, ranks):.1f} GB/s, {small.seconds * 1e6:.0f} us"


def gathered(
    numbers: Sequence[int],
    uuids: Sequence[str],
    driver: str | None,
    variables: Mapping[str, str],
    news: Sequence[CollectiveNews],
) -> Measured:
    """What the program told, put together; pairs by the numbers of their GPUs."""
    outcomes = {item.run: item.outcome for item in news if item.run and item.outcome and item.pair is None}
    pairs = [
        (numbers[item.pair[0]], numbers[item.pair[1]], item.outcome)
        for item in news
        if item.pair is not None and item.outcome is not None
    ]
    untried = sum(item.untried for item in news)
    return Measured(tuple(numbers), tuple(uuids), driver, variables, outcomes, tuple(pairs), untried)


def as_json(outcome: CollectiveOutcome, ranks: int) -> dict[str, Any]:
    """`bus_gb_per_s` and `latency_us`, null where it did not end well, beside all that was measured."""
    ended = outcome.measured if well(outcome) else ()
    return {
        "bus_gb_per_s": round(bus_gb_per_s(ended[-1], ranks), 2) if ended else None,
        "latency_us": round(ended[0].seconds * 1e6, 1) if ended else None,
        "sizes": [
            {
                "bytes": timing.bytes,
                "us": round(timing.seconds * 1e6, 1),
                "bus_gb_per_s": round(bus_gb_per_s(timing, ranks), 2),
            }
            for timing in outcome.measured
        ],
        **{
            name: value
            for name, value in outcome.as_json().items()
            if name not in ("measured", "ranks_silent")
        },
    }
