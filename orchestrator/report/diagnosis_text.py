"""How is a diagnosis shown: root cause, why, remedy, evidence?"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Sequence

from orchestrator.diagnosis.verdict import Diagnosis
from orchestrator.on_host.secrets.secrets import redact
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
NEXT = {
    "unknown_fault": "No remedy is known: change nothing on a guess, and pack the log for whoever is asked next:",
    "hang": "See where its processes stand (py-spy dump --pid PID), and pack the log for whoever is asked next:",
}
CLEANING = {
    "shm": "remove what was left in /dev/shm",
    "orphan_processes": "end what an earlier launch left running",
    "gpu_memory_wait": "wait until the memory of the GPUs is free",
    "compile_cache": "remove the compile cache",
    "stale_lock": "remove the lock that nobody holds",
}
_ROOM = WIDTH - 13
_VARYING = re.compile(r"0x[0-9a-f]+|\d+")


def diagnosis_lines(
    diagnosis: Diagnosis, file: str, *, known: int, packing: str, hosts: Sequence[str] = ()
) -> list[StyledLine]:
    """The diagnosis for a person, at most 80 columns wide; `known` is how many patches were asked, `packing` the
    command that packs the log for whoever is asked next, `hosts` what is to be said of the hosts of a launch, where it has several."""
    verdict, words = _headline(diagnosis)
    missing = diagnosis.root_cause is not None and diagnosis.root_cause.missing
    by_stack = diagnosis.root_cause is not None and diagnosis.root_cause.by_stack
    out = _entry(verdict, words, role="bad" if diagnosis.verdict in FAILED else "good")
    if diagnosis.root_cause:
        place = _cut(f"{file}:{diagnosis.root_cause.line}")
        where = ", ".join(filter(None, [diagnosis.root_cause.process, place]))
        same = f", same in {len(diagnosis.folded.processes)} more" if diagnosis.folded.processes else ""
        out += _entry(
            "kept by" if by_stack else "last words" if diagnosis.verdict == "hang" else "root cause",
            condensed(diagnosis.root_cause.text),
            limit=8,
            role="bad",
        ) + _entry("", where + same)
    for sentence in hosts:
        out += _entry("host", sentence)
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
            out += _with_command("next" if missing else "advice", advice)
    # stacks from files of their own have no line in the log
    shown_already = diagnosis.root_cause.line if diagnosis.root_cause and not by_stack else None
    if diagnosis.folded.lines:
        out += _entry("folded", f"{diagnosis.folded.lines} lines only repeat it or follow from it")
    for evidence in diagnosis.evidence:
        if evidence.line != shown_already:
            out += _entry("evidence", f"line {evidence.line}: {evidence.text}", limit=2)
    if diagnosis.finding is None and diagnosis.verdict in ("unknown_fault", "hang"):
        out += _entry("ruled out", f"{known} patches were asked and none recognises it")
        step = NEXT["unknown_fault" if by_stack else diagnosis.verdict]
        out += [] if missing else _with_command("next", f"{step}\n{packing}")
    return out


def same(diagnosis: Diagnosis) -> object:
    """What of a diagnosis makes that of another host the same, but for numbers, such as those of lines and processes."""
    cause = _VARYING.sub("#", condensed(diagnosis.root_cause.text)) if diagnosis.root_cause else ""
    finding = diagnosis.finding.patch if diagnosis.finding else ""
    remedy = diagnosis.remedy.model_dump_json() if diagnosis.remedy else ""
    return diagnosis.verdict, cause, finding, remedy


def _with_command(label: str, text: str) -> list[StyledLine]:
    """A sentence and, on lines of its own, so that it can be pasted, the command that it leads to, if it does."""
    sentence, _, command = text.partition("\n")
    parts = textwrap.wrap(redact(command), _ROOM - 2, break_on_hyphens=False)
    lines = [part + (" \\" if part is not parts[-1] else "") for part in parts]
    return _entry(label, sentence) + [line for part in lines for line in _entry("", part)]


def _pieces(word: str) -> list[str]:
    """A word in parts of which each fits a line, broken behind a sign in it if there is one."""
    pieces = []
    while len(word) > _ROOM:
        end = max(word.rfind(sign, 0, _ROOM) for sign in "/,&?") + 1 or _ROOM
        pieces.append(word[:end])
        word = word[end:]
    return [*pieces, word]


def _cut(place: str) -> str:
    """A place in a file whose path may be long: of that the end."""
    return place if len(place) <= _ROOM else f"...{place[3 - _ROOM :]}"


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
    words = [piece for word in redact(text).split() for piece in _pieces(word)]
    lines = wrapped([(f"{label:<12} ", "dim")], " ".join(words), WIDTH, role=role)
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
        switch = action.kind == "flag" and action.value == "true"
        setting = str(action.name) if switch else f"{action.name}={action.value}"
        return f"drop {action.name}" if action.op == "remove" else setting
    if action.kind == "cleanup":
        return CLEANING[str(action.name)]
    if action.kind == "redownload":
        return f"download again {'whatever is damaged' if action.name == '*' else action.name}"
    return f"install {action.name}"
