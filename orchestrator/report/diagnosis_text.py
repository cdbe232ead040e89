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
LIKELY = "the cause is likely, not proven"
MISSING = "this log does not say why"
BY_STACKS = "its processes stand still, as their stacks show"


def diagnosis_lines(diagnosis: Diagnosis, file: str, *, known: int, packing: str) -> list[StyledLine]:
    """The diagnosis for a person, at most 80 columns wide; `known` is how many patches were asked, `packing` the
    command that packs the log for whoever is asked next."""
    verdict, words = _headline(diagnosis)
    by_stack = diagnosis.root_cause is not None and diagnosis.root_cause.by_stack
    out = _entry(verdict, words, role="bad" if diagnosis.verdict in FAILED else "good")
    if diagnosis.root_cause:
        where = ", ".join(filter(None, [diagnosis.root_cause.process, f"{file}:{diagnosis.root_cause.line}"]))
        same = f", same in {len(diagnosis.folded.processes)} more" if diagnosis.folded.processes else ""
        out += _entry(
            "kept by" if by_stack else "last words" if diagnosis.verdict == "hang" else "root cause",
            condensed(diagnosis.root_cause.text),
            limit=8,
            role="bad",
        ) + _entry("", where + same)
    if diagnosis.finding:
        certain = "" if diagnosis.finding.confidence == "certain" else " (likely)"
        out += _entry("why", diagnosis.finding.explanation or diagnosis.finding.title)
        out += _entry("patch", f"{diagnosis.finding.patch}{certain}: {diagnosis.finding.title}")
        for tells in diagnosis.finding.tells:
            out += _entry("would tell", tells)
    if diagnosis.remedy:
        for action in diagnosis.remedy.actions:
            undoing = "reversible" if action.kind in SETTINGS else "cannot be undone"
            how = f"automatic, {undoing}" if diagnosis.remedy.automatic else "yours to decide"
            out += _entry("remedy", f"{_sentence(action)} ({how})", role="strong")
        cost = diagnosis.remedy.ways[0].cost if diagnosis.remedy.ways else ""
        out += _entry("cost", cost) if cost else []
        for advice in diagnosis.remedy.advice:
            out += _advice(advice)
    # stacks from files of their own have no line in the log
    shown_already = diagnosis.root_cause.line if diagnosis.root_cause and not by_stack else None
    if diagnosis.folded.lines:
        out += _entry("folded", f"{diagnosis.folded.lines} lines only repeat it or follow from it")
    for evidence in diagnosis.evidence:
        if evidence.line != shown_already:
            out += _entry("evidence", f"line {evidence.line}: {evidence.text}", limit=2)
    if diagnosis.finding is None and diagnosis.verdict in ("unknown_fault", "hang"):
        out += _entry("ruled out", f"{known} patches were asked and none recognises it")
    if diagnosis.verdict == "unknown_fault":
        out += _entry("next", f"no remedy is known; change nothing on a guess. {packing}")
    return out


def _advice(text: str) -> list[StyledLine]:
    """A command in it has a line of its own, so that it can be pasted."""
    labelled = [("advice", text.split("\n")[0]), *(("", line) for line in text.split("\n")[1:])]
    return [line for label, part in labelled for line in _entry(label, part)]


def _headline(diagnosis: Diagnosis) -> tuple[str, str]:
    verdict, words = HEADLINES[diagnosis.verdict]
    root, finding = diagnosis.root_cause, diagnosis.finding
    if root is not None and root.by_stack:
        return verdict, BY_STACKS
    if finding is None:
        return verdict, MISSING if root is not None and root.missing else words
    likely = diagnosis.verdict == "fault" and finding.confidence == "likely"
    return verdict, LIKELY if likely else words


def _entry(label: str, text: str, *, limit: int | None = None, role: Style = "") -> list[StyledLine]:
    lines = wrapped([(f"{label:<12} ", "dim")], " ".join(text.split()), WIDTH, role=role)
    if limit is not None and len(lines) > limit:
        kept, last = lines[:limit], lines[limit - 1]
        return [*kept[:-1], [*last[:-1], (f"{last[-1][0][: WIDTH - 17]} ...", role)]]
    return lines


def _sentence(action: ProposedAction) -> str:
    if action.kind == "config":
        edit = (
            f"remove {action.path}"
            if action.op == "remove"
            else f"set {action.path} to {json.dumps(action.value)}"
        )
        return f"in {action.file}, {edit}"
    if action.kind in ("flag", "env"):
        return f"drop {action.name}" if action.op == "remove" else f"{action.name}={action.value}"
    verbs = {"cleanup": "clean up", "redownload": "download again:", "install": "install"}
    return f"{verbs[action.kind]} {action.name}"
