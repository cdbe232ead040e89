"""How does the journal look to a person: when, what, and what came of it?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from orchestrator.report.layout import Style, StyledLine, visible, wrapped
from orchestrator.report.panel import condensed

JournalRecord = Mapping[str, Any]
HIDDEN = ("at", "machine", "action")
WHEN = 21
WHAT = 12
ROLES: Mapping[str, Style] = {"healthy": "good", "failed": "bad", "hang": "bad"}


def table(records: Iterable[JournalRecord], width: int) -> list[StyledLine]:
    """One row a record, oldest first; times are the host's, in UTC."""
    lines: list[StyledLine] = [[(f"{'time (UTC)':<{WHEN}}{'what':<{WHAT}}details", "dim")]]
    for record in records:
        what, details, role = words(record)
        head: StyledLine = [(f"{_when(record):<{WHEN}}", "dim"), (f"{what:<{WHAT - 1}} ", "strong")]
        lines += wrapped(head, details, width, role=role)
    return lines


def words(record: JournalRecord) -> tuple[str, str, Style]:
    """What was done and its details, as it was told when it happened. Never raises: a record may lack any key."""
    action = str(record.get("action"))
    if action in ("launch", "outcome"):
        return _launch(record)
    if action == "stop":
        return ("stop" if record.get("by_person") else "clean"), _stop(record), ""
    if action in DETAILS:
        details, role = DETAILS[action]
        return action.replace("_", " "), details(record), role
    rest = {key: value for key, value in record.items() if key not in HIDDEN}
    return visible(action.replace("_", " ")), _pairs(rest), ""


def _launch(record: JournalRecord) -> tuple[str, str, Style]:
    what = f"launch {record.get('launch', '?')}"
    if record["action"] == "launch":
        return what, "started", ""
    result = str(record.get("result", "its end is not told"))
    cause = condensed(str(record.get("cause") or ""))
    patch = f" ({record['finding']})" if record.get("finding") else ""
    return what, f"{result}{patch}{': ' if cause else ''}{cause}", ROLES.get(result, "")


def _patch(record: JournalRecord) -> str:
    files = [str(file.get("name")) for file in _records(record.get("files"))]
    done = [f"edited {', '.join(files)}"] if files else []
    for name, value in {**_mapping(record.get("flags")), **_mapping(record.get("environment"))}.items():
        done.append(f"dropped {name}" if value is None else f"set {name} to {value}")
    why = f" ({record['why']})" if record.get("why") else ""
    return f"{record.get('patch')}{why}: {'; '.join(done) or record.get('way') or 'nothing changed'}"


def _revert(record: JournalRecord) -> str:
    why = "by a person" if record.get("by_person") else "it did not help"
    kept = "; the files were left as they are" if record.get("forgotten") else ""
    return f"{record.get('patch')} taken back, {why}{kept}"


def _stop(record: JournalRecord) -> str:
    ended, removed = _list(record.get("ended")), _list(record.get("shm_removed"))
    left = [f"pid {process.get('pid')} ({process.get('name')})" for process in _records(record.get("left"))]
    others = f"; {', '.join(left)} had its log open and lived on" if left else ""
    done = f"{_count(ended, 'process', 'processes')} ended, {_count(removed, 'shared-memory file')} removed"
    return done + others


def _stop_failed(record: JournalRecord) -> str:
    return f"launch {record.get('launch', '?')}: {record.get('survivors', 'some processes')} would not end"


def _clean(record: JournalRecord) -> str:
    """What became of each thing that was to be cleaned (`on_host/programs/cleanup.py`)."""
    parts = []
    for name, done in _mapping(record.get("what")).items():
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


def _discard(record: JournalRecord) -> str:
    files = [str(name) for name in _list(record.get("files"))]
    kept = _records(record.get("kept"))
    stays = f"; {', '.join(str(file.get('path')) for file in kept)} stayed" if kept else ""
    return (
        f"{', '.join(files) or 'no file'} taken away from {record.get('folder')}, to be fetched again{stays}"
    )


def _consent(record: JournalRecord) -> str:
    where = [str(record[key]) for key in ("repository", "commit") if record.get(key)]
    return f"{record.get('consent')} given{' for ' if where else ''}{' at '.join(where)}"


def _pairs(record: Mapping[str, Any]) -> str:
    """What this program has no words for: "count 3, files 2 items"."""
    pairs = []
    for key, value in record.items():
        if isinstance(value, (list, dict)):
            value = _count(list(value), "item")
        pairs.append(f"{str(key).replace('_', ' ')} {value}")
    return ", ".join(pairs)


DETAILS: Mapping[str, tuple[Callable[[JournalRecord], str], Style]] = {
    "patch": (_patch, ""),
    "revert": (_revert, ""),
    "stop_failed": (_stop_failed, "bad"),
    "clean": (_clean, ""),
    "discard": (_discard, ""),
    "consent": (_consent, ""),
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
    return visible(str(record.get("at", ""))[:19].replace("T", " "))
