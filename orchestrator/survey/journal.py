"""What does the journal of a deployment say: which launches, which incident, which patches are in force?

The journal is a list of records on the host (`on_host/state/state.py` writes it). This module folds it; it does
no I/O. Records by `action`:

launch   a launch was started: launch (number), playbook (its name; not told by older releases)
outcome  how a launch ended up: launch, result "healthy" | "failed" | "hang", cause (its root cause)
patch    a remedy is in force: patch, way (what it does), folder, files, flags, environment, why, cause
revert   a patch is no longer in force: patch
stop     a launch was stopped: by request, or while a remedy was applied
consent  the checkpoint's code was trusted: consent, repository, revision, commit, code {file: sha256}
download, clean, ...   for people to read
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class FileChange:
    """One config file as a patch found it and left it (sha256, hex)."""

    name: str
    before: str
    after: str
    symlink: str | None = None


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

    def patch(self, patch_id: str) -> AppliedPatch | None:
        return next((one for one in self.applied if one.patch == patch_id), None)

    def within(self, folder: str) -> History:
        """The same, with the patches of one checkpoint's folder alone."""
        return replace(self, applied=tuple(one for one in self.applied if one.folder == folder))

    @property
    def flags(self) -> dict[str, str | None]:
        return {name: value for one in self.applied for name, value in one.flags.items()}

    @property
    def environment(self) -> dict[str, str | None]:
        return {name: value for one in self.applied for name, value in one.environment.items()}


def fold(records: Iterable[Mapping[str, Any]]) -> History:
    """The history that the records, oldest first, add up to; unknown and broken records change nothing."""
    history = History()
    for record in records:
        if not sound(record):
            continue
        step = _STEPS.get(str(record.get("action")))
        if step is not None:
            history = step(history, record)
    return history


def sound(record: Any) -> bool:
    """Whether a record says what one of its action must, each in its type; one of an unknown action always does."""
    if not isinstance(record, dict) or not isinstance(record.get("action"), str):
        return False
    required, optional = _SHAPES.get(record["action"], ({}, {}))
    return all(fits(record.get(key)) for key, fits in required.items()) and all(
        fits(record[key]) for key, fits in optional.items() if key in record
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_text_or_none(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 < value < 1 << 31


def _are_settings(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_text_or_none, value.values()))


def _are_files(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(file, dict)
        and all(_is_text(file.get(key)) for key in ("name", "before", "after"))
        and "/" not in file["name"]
        and _is_text_or_none(file.get("symlink"))
        for file in value
    )


def _is_list_or_none(value: Any) -> bool:
    return value is None or isinstance(value, list)


_Shape = Mapping[str, Callable[[Any], bool]]
_SHAPES: Mapping[str, tuple[_Shape, _Shape]] = {
    "launch": ({"launch": _is_number}, {"playbook": _is_text_or_none}),
    "outcome": (
        {"launch": _is_number, "result": _is_text},
        {"cause": _is_text_or_none, "finding": _is_text_or_none},
    ),
    "patch": (
        {"patch": _is_text, "folder": _is_text},
        {
            "files": _are_files,
            "flags": _are_settings,
            "environment": _are_settings,
            "cause": _is_text,
            "way": _is_text,
        },
    ),
    "revert": ({"patch": _is_text}, {"folder": _is_text}),
    "consent": (
        {"consent": _is_text},
        {
            "repository": _is_text,
            "revision": _is_text,
            "commit": _is_text_or_none,
            "code": _are_settings,
        },
    ),
    "stop": ({}, {"ended": _is_list_or_none, "shm_removed": _is_list_or_none}),
}
"""By action, what a record must say and what it may."""


def _launch(history: History, record: Mapping[str, Any]) -> History:
    return replace(
        history,
        launch=record["launch"],
        playbook=record.get("playbook") or history.playbook,
        attempts=history.attempts + 1,
        outcome=None,
        cleaned=False,
    )


def _outcome(history: History, record: Mapping[str, Any]) -> History:
    from_outside = bool(record.get("from_outside"))
    cause, finding = record.get("cause") or "", record.get("finding")
    outcome = Outcome(record["launch"], record["result"], cause, finding, from_outside)
    if outcome.launch != history.launch:
        return history
    if outcome.result != "healthy":  # a launch may be looked at again, and is killed once
        before = history.outcome is not None and history.outcome.from_outside
        return replace(history, outcome=outcome, killed=history.killed + (from_outside and not before))
    confirmed = tuple(replace(one, confirmed=True) for one in history.applied)
    return replace(history, outcome=outcome, attempts=0, killed=0, applied=confirmed, tried={})


def _patch(history: History, record: Mapping[str, Any]) -> History:
    files = tuple(
        FileChange(file["name"], file["before"], file["after"], file.get("symlink"))
        for file in record.get("files", ())
    )
    old = history.within(record["folder"]).patch(record["patch"])
    launch = history.launch or 0
    if old is not None:  # put on again, or more of it: what it did before stays in force
        named = {file.name for file in files}
        files = tuple(file for file in old.files if file.name not in named) + files
    new = AppliedPatch(
        patch=record["patch"],
        folder=record["folder"],
        files=files,
        flags={**(old.flags if old else {}), **record.get("flags", {})},
        environment={**(old.environment if old else {}), **record.get("environment", {})},
        cause=record.get("cause", ""),
        way=record.get("way", ""),
        launch=launch,
        confirmed=old.confirmed if old else False,
    )
    others = tuple(one for one in history.applied if one is not old)
    ways = (*history.tried.get(new.patch, ()), new.way)
    return replace(history, applied=(*others, new), tried={**history.tried, new.patch: ways})


def _revert(history: History, record: Mapping[str, Any]) -> History:
    others = tuple(
        one
        for one in history.applied
        if one.patch != record["patch"] or one.folder != record.get("folder", one.folder)
    )
    if record.get("by_person"):
        return replace(history, applied=others, attempts=0, killed=0, tried={})
    return replace(history, applied=others)


def _stop(history: History, record: Mapping[str, Any]) -> History:
    history = replace(history, cleaned=True)
    if history.launch is not None and (history.outcome is None or history.outcome.result == "healthy"):
        history = replace(history, outcome=Outcome(history.launch, "stopped"))
    return replace(history, attempts=0, killed=0, tried={}) if record.get("by_person") else history


def _consent(history: History, record: Mapping[str, Any]) -> History:
    code = record.get("code")
    if record.get("consent") != "trust-remote-code" or not isinstance(code, Mapping):
        return history
    commit = record.get("commit")
    trusted = Trusted(
        str(record.get("repository")),
        str(record.get("revision")),
        str(commit) if commit else None,
        {str(name): str(sha256) for name, sha256 in code.items()},
    )
    return replace(history, trusted=(*history.trusted, trusted))


_STEPS = {
    "launch": _launch,
    "outcome": _outcome,
    "patch": _patch,
    "revert": _revert,
    "stop": _stop,
    "consent": _consent,
}


def was_healthy(records: Sequence[Mapping[str, Any]], launch: int) -> bool:
    """Whether a completion ever came out of that launch, whatever became of it since."""
    for record in filter(sound, reversed(records)):
        if record.get("launch") == launch and record["action"] == "launch":
            return False  # what is on record before is of another launch of the same number
        if record.get("launch") == launch and record.get("result") == "healthy":
            return True
    return False


def usual_seconds(records: Iterable[Mapping[str, Any]]) -> float | None:
    """How long the last launch that became healthy took, from its start to its first completion; None for none."""
    started: dict[int, datetime] = {}
    usual = None
    for record in records:
        moment = _moment(record) if sound(record) else None
        if moment is None:
            continue
        if record.get("action") == "launch":
            started[record["launch"]] = moment
        elif record.get("action") == "outcome" and record.get("result") == "healthy":
            begun = started.pop(
                record["launch"], None
            )  # a second "healthy" is that of a server found in place
            usual = (moment - begun).total_seconds() if begun else usual
    return usual


def _moment(record: Mapping[str, Any]) -> datetime | None:
    """When it was written, host time; None where that is not said with its zone."""
    try:
        moment = datetime.fromisoformat(str(record.get("at")))
    except ValueError:
        return None
    return None if moment.tzinfo is None else moment
