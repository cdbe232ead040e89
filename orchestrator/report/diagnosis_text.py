"""How is a diagnosis shown: root cause, why, remedy, evidence?"""

from __future__ import annotations

import json

from orchestrator.diagnosis.verdict import Diagnosis
from orchestrator.patches.proposal import ProposedAction
from orchestrator.report.layout import WIDTH, Style, StyledLine, wrapped
from orchestrator.report.panel import condensed

FAILED = ("fault", "unknown_fault", "hang")
SETTINGS = ("config", "flag", "env")
"""The kinds of action that `deploy revert` takes back; what is removed, ended or installed is not put back."""
HEADLINES = {
    "healthy": ("healthy", "the server came up and nothing failed since"),
    "starting": ("starting", "nothing failed so far"),
    "fault": ("failed", "the cause is known"),
    "unknown_fault": ("failed", "no patch knows the cause"),
    "hang": ("hangs", "silent for longer than this phase takes"),
}


def diagnosis_lines(found: Diagnosis, file: str, *, known: int, packing: str) -> list[StyledLine]:
    """The diagnosis for a person, at most 80 columns wide; `known` is how many patches were asked, `packing` the
    command that packs the log for whoever is asked next."""
    verdict, words = HEADLINES[found.verdict]
    out = _entry(verdict, words, role="bad" if found.verdict in FAILED else "good")
    if found.root_cause:
        where = ", ".join(filter(None, [found.root_cause.process, f"{file}:{found.root_cause.line}"]))
        same = f", same in {len(found.folded.processes)} more" if found.folded.processes else ""
        out += _entry(
            "last words" if found.verdict == "hang" else "root cause",
            condensed(found.root_cause.text),
            limit=8,
            role="bad",
        ) + _entry("", where + same)
    if found.finding:
        certain = "" if found.finding.confidence == "certain" else " (likely)"
        out += _entry("why", found.finding.explanation or found.finding.title)
        out += _entry("patch", f"{found.finding.patch}{certain}: {found.finding.title}")
    if found.remedy:
        for action in found.remedy.actions:
            undoing = "reversible" if action.kind in SETTINGS else "cannot be undone"
            how = f"automatic, {undoing}" if found.remedy.automatic else "yours to decide"
            out += _entry("remedy", f"{_sentence(action)} ({how})", role="strong")
        cost = found.remedy.ways[0].cost if found.remedy.ways else ""
        out += _entry("cost", cost) if cost else []
        for advice in found.remedy.advice:
            out += _entry("advice", advice)
    shown_already = found.root_cause.line if found.root_cause else None
    if found.folded.lines:
        out += _entry("folded", f"{found.folded.lines} lines only repeat it or follow from it")
    for evidence in found.evidence:
        if evidence.line != shown_already:
            out += _entry("evidence", f"line {evidence.line}: {evidence.text}", limit=2)
    if found.finding is None and found.verdict in ("unknown_fault", "hang"):
        out += _entry("ruled out", f"{known} patches were asked and none recognises it")
    if found.verdict == "unknown_fault":
        out += _entry("next", f"no remedy is known; change nothing on a guess. {packing}")
    return out


def _entry(label: str, text: str, *, limit: int | None = None, role: Style = "") -> list[StyledLine]:
    lines = wrapped([(f"{label:<12} ", "dim")], " ".join(text.split()), WIDTH, role=role)
    if limit is not None and len(lines) > limit:
        kept, last = lines[:limit], lines[limit - 1]
        return [*kept[:-1], [*last[:-1], (f"{last[-1][0][: WIDTH - 17]} ...", role)]]
    return lines


def _sentence(action: ProposedAction) -> str:
    if action.kind == "config":
        what = (
            f"remove {action.path}"
            if action.op == "remove"
            else f"set {action.path} to {json.dumps(action.value)}"
        )
        return f"in {action.file}, {what}"
    if action.kind in ("flag", "env"):
        return f"drop {action.name}" if action.op == "remove" else f"{action.name}={action.value}"
    verbs = {"cleanup": "clean up", "redownload": "download again:", "install": "install"}
    return f"{verbs[action.kind]} {action.name}"
