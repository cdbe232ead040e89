"""What does the journal of a deployment say: which launches, which incident, which patches are in force?

This module folds its records (`programs/journal.py`); it does no I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from orchestrator.engines.consents import TRUST
from orchestrator.programs.journal import (
    CollectiveRecord,
    ConsentRecord,
    FileChange,
    JournalRecord,
    LaunchRecord,
    OutcomeRecord,
    PatchRecord,
    RevertRecord,
    StopRecord,
)


@dataclass(frozen=True)
class AppliedPatch:
    """A remedy in force. A flag or variable whose value is None was removed."""

    patch: str
    folder: str
    files: tuple[FileChange, ...] = ()
    flags: Mapping[str, str | None] = field(default_factory=dict)
    environment: Mapping[str, str | None] = field(default_factory=dict)
    cause: str = ""
    way: str = ""
    """What the patch asked for, in one line; "" where the record does not say."""
    launch: int = 0
    """The last launch before it was applied: only a later one can tell whether it helps."""
    confirmed: bool = False
    why: str = ""
    """What it answered when it was first applied (`plan/change.py`); "" where the record does not say."""
    engine: Mapping[str, str] = field(default_factory=dict)
    """Settings that the engine was foreseen to make of the files without it."""


@dataclass(frozen=True)
class Outcome:
    """How a launch ended up: "healthy", "failed", "hang" or "stopped", and the root cause of a failure."""

    launch: int
    result: str
    cause: str = ""
    finding: str | None = None
    """The patch that recognised the failure."""
    from_outside: bool = False
    """Whether it was killed by nobody knows whom."""
    context: int | None = None
    """Tokens of one request, as it told when it was healthy."""
    halfway: bool = False
    """Whether it was stopped to be started again at once, which has not come about."""


@dataclass(frozen=True)
class Trusted:
    """Code that a person let run: what was asked of the Hub, the commit it was (None: not fetched by us), and the sha256
    of each Python file by its name in the folder."""

    repository: str
    revision: str
    commit: str | None
    code: Mapping[str, str]


@dataclass(frozen=True)
class History:
    """The state of a deployment as its journal tells it."""

    launch: int | None = None
    playbook: str | None = None
    """Of which playbook that launch is; None where no record says so."""
    attempts: int = 0
    """Launches of the incident that is open: since the last healthy launch, revert or stop by a person."""
    killed: int = 0
    """Launches of that incident that were killed by nobody knows whom."""
    outcome: Outcome | None = None
    """Of the last launch; None while nobody has seen how it ended up."""
    applied: tuple[AppliedPatch, ...] = ()
    """Oldest first."""
    tried: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Patches applied within the open incident, those reverted included, and the ways that were taken of each;
    "" stands for a record that does not say which."""
    cleaned: bool = True
    """Whether the last launch was stopped and what it left was cleaned."""
    trusted: tuple[Trusted, ...] = ()
    """Oldest first."""
    measured: CollectiveRecord | None = None
    """The last collectives that were measured, of whichever GPUs."""

    def patch(self, patch_id: str) -> AppliedPatch | None:
        return next((applied for applied in self.applied if applied.patch == patch_id), None)

    def within(self, folder: str) -> History:
        """The same, with the patches of one checkpoint's folder alone."""
        return replace(self, applied=tuple(applied for applied in self.applied if applied.folder == folder))

    @property
    def flags(self) -> dict[str, str | None]:
        return {name: value for applied in self.applied for name, value in applied.flags.items()}

    @property
    def environment(self) -> dict[str, str | None]:
        return {name: value for applied in self.applied for name, value in applied.environment.items()}


def fold(records: Iterable[JournalRecord]) -> History:
    """The history that the records, oldest first, add up to; those of other actions and broken ones change nothing."""
    history = History()
    for record in records:
        step = _STEPS.get(type(record))
        if step is not None:
            history = step(history, record)
    return history


def _launch(history: History, record: LaunchRecord) -> History:
    return replace(
        history,
        launch=record.launch,
        playbook=record.playbook or history.playbook,
        attempts=history.attempts + 1,
        outcome=None,
        cleaned=False,
    )


def _outcome(history: History, record: OutcomeRecord) -> History:
    outcome = Outcome(
        record.launch, record.result, record.cause or "", record.finding, record.from_outside, record.context
    )
    if outcome.launch != history.launch:
        return history
    if outcome.result != "healthy":  # a launch may be looked at again, and is killed once
        before = history.outcome is not None and history.outcome.from_outside
        killed = history.killed + (outcome.from_outside and not before)
        return replace(history, outcome=outcome, killed=killed)
    confirmed = tuple(replace(applied, confirmed=True) for applied in history.applied)
    return replace(history, outcome=outcome, attempts=0, killed=0, applied=confirmed, tried={})


def _patch(history: History, record: PatchRecord) -> History:
    files = record.files
    old = history.within(record.folder).patch(record.patch)
    if old is not None:  # put on again, or more of it: what it did before stays in force
        named = {file.name for file in files}
        files = tuple(file for file in old.files if file.name not in named) + files
    new = AppliedPatch(
        patch=record.patch,
        folder=record.folder,
        files=files,
        flags={**(old.flags if old else {}), **record.flags},
        environment={**(old.environment if old else {}), **record.environment},
        cause=record.cause,
        way=record.way,
        launch=history.launch or 0,
        confirmed=old.confirmed if old else False,
        why=(old.why if old else record.why) or "",
        engine={**(old.engine if old else {}), **record.engine},
    )
    others = tuple(applied for applied in history.applied if applied is not old)
    ways = (*history.tried.get(new.patch, ()), new.way)
    return replace(history, applied=(*others, new), tried={**history.tried, new.patch: ways})


def _revert(history: History, record: RevertRecord) -> History:
    others = tuple(
        applied
        for applied in history.applied
        if applied.patch != record.patch or record.folder not in (None, applied.folder)
    )
    if record.by_person:
        return replace(history, applied=others, attempts=0, killed=0, tried={})
    if record.withdrawn:
        ways = history.tried.get(record.patch, ())[:-1]
        rest = {patch: taken for patch, taken in history.tried.items() if patch != record.patch}
        return replace(history, applied=others, tried={**rest, record.patch: ways} if ways else rest)
    return replace(history, applied=others)


def _stop(history: History, record: StopRecord) -> History:
    history = replace(history, cleaned=True)
    if history.launch is not None and (history.outcome is None or history.outcome.result == "healthy"):
        history = replace(history, outcome=Outcome(history.launch, "stopped", halfway=record.anew))
    return replace(history, attempts=0, killed=0, tried={}) if record.by_person else history


def _consent(history: History, record: ConsentRecord) -> History:
    if record.consent != TRUST or record.code is None:
        return history
    trusted = Trusted(record.repository or "", record.revision or "", record.commit or None, record.code)
    return replace(history, trusted=(*history.trusted, trusted))


def _collective(history: History, record: CollectiveRecord) -> History:
    return replace(history, measured=record)


_STEPS: Mapping[type[JournalRecord], Callable[[History, Any], History]] = {
    LaunchRecord: _launch,
    OutcomeRecord: _outcome,
    PatchRecord: _patch,
    RevertRecord: _revert,
    StopRecord: _stop,
    ConsentRecord: _consent,
    CollectiveRecord: _collective,
}


def was_healthy(records: Sequence[JournalRecord], launch: int) -> bool:
    """Whether a completion ever came out of that launch, whatever became of it since."""
    for record in reversed(records):
        if isinstance(record, LaunchRecord) and record.launch == launch:
            return False  # what is on record before is of another launch of the same number
        if isinstance(record, OutcomeRecord) and (record.launch, record.result) == (launch, "healthy"):
            return True
    return False


def usual_seconds(records: Iterable[JournalRecord]) -> float | None:
    """How long the last launch that became healthy took, from its start to its first completion; None for none."""
    started: dict[int, datetime] = {}
    usual = None
    for record in records:
        moment = record.moment
        if moment is None:
            continue
        if isinstance(record, LaunchRecord):
            started[record.launch] = moment
        elif isinstance(record, OutcomeRecord) and record.result == "healthy":
            # a second "healthy" is that of a server found in place
            begun = started.pop(record.launch, None)
            usual = (moment - begun).total_seconds() if begun else usual
    return usual
