"""What was done on hosts that serve one model together, as one story? Pure.

What all of them did in the same stretch of time is one row. Their clocks may differ, and so may the numbers of their launches.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.programs.journal import (
    JournalRecord,
    LaunchRecord,
    OutcomeRecord,
    PatchRecord,
    RevertRecord,
)
from orchestrator.report.alike import alike, named
from orchestrator.report.history import heading, row, words
from orchestrator.report.layout import StyledLine

TOGETHER_SECONDS = 300.0
"""What hosts did of one kind is told together where it is no further apart: one may clean, or wait, while the other went on."""


@dataclass
class Deed:
    """What was done of one kind, by each host that did it."""

    at: float
    kind: tuple[Any, ...]
    records: dict[str, JournalRecord] = field(default_factory=dict)


def table(journals: Mapping[str, Sequence[JournalRecord]], width: int) -> list[StyledLine]:
    """One row a deed, oldest first, with the time of the host that did it first; what only some did, or each in its own way, names them."""
    lines = heading()
    for deed in deeds(journals):
        first = next(iter(deed.records.values()))
        action, *_ = words(first)
        for number, (hosts, record) in enumerate(alike(deed.records, _said)):
            _, details, role = words(_fullest([deed.records[host] for host in hosts]))
            if _launch(record) != _launch(first):
                details = f"its launch {_launch(record)}: {details}"
            whose = "" if len(hosts) == len(journals) else f"{named(hosts)}: "
            lines += row(
                first if number == 0 else None, action if number == 0 else "", whose + details, role, width
            )
    return lines


def deeds(journals: Mapping[str, Sequence[JournalRecord]]) -> list[Deed]:
    """All records, each host's in its own order: one joins what the others did of its kind since its own last one."""
    done: list[Deed] = []
    last = dict.fromkeys(journals, -1)
    for at, host, record in heapq.merge(
        *map(_timed, journals, journals.values()), key=lambda timed: timed[0]
    ):
        kind = _kind(record)
        fitting = (
            number
            for number in range(last[host] + 1, len(done))
            if done[number].kind == kind and at - done[number].at <= TOGETHER_SECONDS
        )
        number = next(fitting, len(done))
        if number == len(done):
            done.append(Deed(at, kind))
        done[number].records[host] = record
        last[host] = number
    return done


def _timed(host: str, journal: Sequence[JournalRecord]) -> Iterator[tuple[float, str, JournalRecord]]:
    """A record without a time was written when the one before it was; time never goes back."""
    at = 0.0
    for record in journal:
        moment = record.moment
        at = max(at, moment.timestamp()) if moment else at
        yield at, host, record


def _kind(record: JournalRecord) -> tuple[Any, ...]:
    """What makes records of several hosts one deed: not what each of them ended or edited by it."""
    if isinstance(record, OutcomeRecord):
        return record.action, record.result
    if isinstance(record, (PatchRecord, RevertRecord)):
        return record.action, record.patch
    return (words(record)[0] if not isinstance(record, LaunchRecord) else record.action,)


def _said(record: JournalRecord) -> object:
    """What of a record is shown; how large a context is only the host tells that answers requests."""
    if isinstance(record, OutcomeRecord):
        return record.launch, record.result, record.finding, record.cause
    return words(record)


def _launch(record: JournalRecord) -> int | None:
    return record.launch if isinstance(record, (LaunchRecord, OutcomeRecord)) else None


def _fullest(records: Sequence[JournalRecord]) -> JournalRecord:
    return max(records, key=lambda record: isinstance(record, OutcomeRecord) and record.context is not None)
