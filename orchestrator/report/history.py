"""How does the journal look to a person: when, what, and what came of it?"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.report.layout import Line, Role, wrapped
from orchestrator.report.panel import condensed

Record = Mapping[str, Any]
HIDDEN = ("at", "machine", "action")
WHEN = 21
WHAT = 12
ROLES: Mapping[str, Role] = {"healthy": "good", "failed": "bad", "hang": "bad"}


def table(records: Iterable[Record], width: int) -> list[Line]:
    """One row a record, oldest first; times are the host's, in UTC."""
    lines: list[Line] = [[(f"{'time (UTC)':<{WHEN}}{'what':<{WHAT}}details", "dim")]]
    for record in records:
        what, details, role = words(record)
        head: Line = [(f"{_when(record):<{WHEN}}", "dim"), (f"{what:<{WHAT - 1}} ", "strong")]
        lines += wrapped(head, details, width, role=role)
    return lines


def words(record: Record) -> tuple[str, str, Role]:
    """What was done and its details, as it was told when it happened; a record of an unknown kind as it is."""
    action = str(record.get("action"))
    if action in ("launch", "outcome"):
        return _launch(record)
    if action == "patch":
        return "patch", _patch(record), ""
    if action == "revert":
        why = "by a person" if record.get("by_person") else "it did not help"
        kept = "; the files were left as they are" if record.get("forgotten") else ""
        return "revert", f"{record['patch']} taken back, {why}{kept}", ""
    if action == "stop":
        return ("stop" if record.get("by_person") else "clean"), _stop(record), ""
    if action == "stop_failed":
        return "stop failed", f"launch {record.get('launch')}: {record.get('survivors')} would not end", "bad"
    rest = {key: value for key, value in record.items() if key not in HIDDEN}
    return action, json.dumps(rest) if rest else "", ""


def _launch(record: Record) -> tuple[str, str, Role]:
    what = f"launch {record.get('launch')}"
    if record["action"] == "launch":
        return what, "started", ""
    result = str(record.get("result"))
    cause = condensed(str(record.get("cause") or ""))
    patch = f" ({record['finding']})" if record.get("finding") else ""
    return what, f"{result}{patch}{': ' if cause else ''}{cause}", ROLES.get(result, "")


def _patch(record: Record) -> str:
    files = [str(file["name"]) for file in record.get("files", ())]
    done = [f"edited {', '.join(files)}"] if files else []
    for name, value in {**record.get("flags", {}), **record.get("environment", {})}.items():
        done.append(f"dropped {name}" if value is None else f"set {name} to {value}")
    why = f" ({record['why']})" if record.get("why") else ""
    return f"{record['patch']}{why}: {'; '.join(done) or 'nothing changed'}"


def _stop(record: Record) -> str:
    ended, removed = record.get("ended") or [], record.get("shm_removed") or []
    return f"{len(ended)} processes ended, {len(removed)} shared-memory files removed"


def _when(record: Record) -> str:
    return str(record.get("at", ""))[:19].replace("T", " ")
