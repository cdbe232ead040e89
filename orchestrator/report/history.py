"""How does the journal look to a person: when, what, and what came of it?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from orchestrator.programs.journal import (
    CleanRecord,
    CollectiveRecord,
    ConsentRecord,
    DiscardRecord,
    InstallRecord,
    JournalRecord,
    LaunchRecord,
    OutcomeRecord,
    PatchRecord,
    RevertRecord,
    StopFailedRecord,
    StopRecord,
)
from orchestrator.report.layout import Style, StyledLine, visible, wrapped
from orchestrator.report.panel import condensed

HIDDEN = ("at", "machine", "action")
WHEN = 21
WHAT = 12
ROLES: Mapping[str, Style] = {"healthy": "good", "failed": "bad", "hang": "bad"}


def table(records: Iterable[JournalRecord], width: int) -> list[StyledLine]:
    """One row a record, oldest first; times are the host's, in UTC."""
    lines = heading()
    for record in records:
        action, details, role = words(record)
        lines += row(record, action, details, role, width)
    return lines


def heading() -> list[StyledLine]:
    """The first line of the table."""
    return [[(f"{'time (UTC)':<{WHEN}}{'what':<{WHAT}}details", "dim")]]


def row(record: JournalRecord | None, action: str, details: str, role: Style, width: int) -> list[StyledLine]:
    """What was done and its details, behind its time, or (None) below it."""
    when = "" if record is None else _when(record)
    head: StyledLine = [(f"{when:<{WHEN}}", "dim"), (f"{action:<{WHAT - 1}} ", "strong")]
    return wrapped(head, details, width, role=role)


def words(record: JournalRecord) -> tuple[str, str, Style]:
    """What was done and its details, as it was told when it happened."""
    if isinstance(record, LaunchRecord):
        return f"launch {record.launch}", "started", ""
    if isinstance(record, OutcomeRecord):
        return f"launch {record.launch}", _outcome(record), ROLES.get(record.result, "")
    if isinstance(record, StopRecord):
        return ("stop" if record.by_person else "clean"), _stop(record), ""
    details, role = DETAILS.get(type(record), (_pairs, ""))
    return visible(record.action.replace("_", " ")), details(record), role


def _outcome(record: OutcomeRecord) -> str:
    cause = condensed(record.cause or "")
    patch = f" ({record.finding})" if record.finding else ""
    context = f", context {record.context}" if record.context else ""
    return f"{record.result}{patch}{context}{': ' if cause else ''}{cause}"


def _patch(record: PatchRecord) -> str:
    done = [f"edited {', '.join(file.name for file in record.files)}"] if record.files else []
    for name, value in (*record.flags.items(), *record.environment.items()):
        done.append(f"dropped {name}" if value is None else f"set {name} to {value}")
    why = f" ({record.why})" if record.why else ""
    return f"{record.patch}{why}: {'; '.join(done) or record.way or 'nothing changed'}"


def _revert(record: RevertRecord) -> str:
    why = "by a person" if record.by_person else "it did not help"
    kept = "; the files were left as they are" if record.forgotten else ""
    return f"{record.patch} taken back, {why}{kept}"


def _stop(record: StopRecord) -> str:
    ended, removed = record.ended or (), record.shm_removed or ()
    left = [f"pid {process.get('pid')} ({process.get('name')})" for process in record.left]
    others = f"; {', '.join(left)} had its log open and lived on" if left else ""
    done = f"{_count(ended, 'process', 'processes')} ended, {_count(removed, 'shared-memory file')} removed"
    return done + others


def _consent(record: ConsentRecord) -> str:
    where = [text for text in (record.repository, record.commit) if text]
    return f"{record.consent} given{' for ' if where else ''}{' at '.join(where)}"


def _install(record: InstallRecord) -> str:
    return f"{record.engine} on Python {record.python} into {record.folder}"


def _collective(record: CollectiveRecord) -> str:
    return record.sentence


def _stop_failed(record: StopFailedRecord) -> str:
    return f"launch {record.launch or '?'}: {record.survivors} would not end"


def _clean(record: CleanRecord) -> str:
    parts = []
    for name, done in record.what.items():
        label = str(name).replace("_", " ")
        if "seconds" in _mapping(done):
            parts.append(f"{label}: waited {done['seconds']} s, {_holders(done)}")
            continue
        removed, kept = (_list(_mapping(done).get(key)) for key in ("removed", "kept"))
        stays = f", {len(kept)} kept" if kept else ""
        parts.append(f"{label}: {', '.join(map(str, removed)) or 'nothing'} removed{stays}")
    return "; ".join(parts) or "nothing"


def _holders(done: Mapping[str, Any]) -> str:
    holders = [
        f"pid {process.get('pid')} ({process.get('command')})" for process in _records(done.get("holders"))
    ]
    return f"memory is held by {', '.join(holders)}" if holders else "nobody holds memory"


def _discard(record: DiscardRecord) -> str:
    files = ", ".join(record.files) or "no file"
    kept = ", ".join(str(file.get("path")) for file in record.kept)
    stays = f"; {kept} stayed" if kept else ""
    return f"{files} taken away from {record.folder}, to be fetched again{stays}"


def _pairs(record: JournalRecord) -> str:
    """What this program has no words for: "count 3, files 2 items"."""
    pairs = []
    for key, value in record.as_json().items():
        if key in HIDDEN:
            continue
        if isinstance(value, (list, dict)):
            value = _count(list(value), "item")
        pairs.append(f"{str(key).replace('_', ' ')} {value}")
    return ", ".join(pairs)


DETAILS: Mapping[type[JournalRecord], tuple[Callable[[Any], str], Style]] = {
    PatchRecord: (_patch, ""),
    RevertRecord: (_revert, ""),
    StopFailedRecord: (_stop_failed, "bad"),
    CleanRecord: (_clean, ""),
    DiscardRecord: (_discard, ""),
    ConsentRecord: (_consent, ""),
    InstallRecord: (_install, ""),
    CollectiveRecord: (_collective, ""),
}


def _count(items: Sequence[object], singular: str, plural: str = "") -> str:
    return f"{len(items)} {singular if len(items) == 1 else plural or f'{singular}s'}"


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _records(value: object) -> list[Mapping[str, Any]]:
    return [item for item in _list(value) if isinstance(item, Mapping)]


def _when(record: JournalRecord) -> str:
    return visible(str(record.at or "")[:19].replace("T", " "))
