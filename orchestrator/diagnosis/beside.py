"""Which line beside a failure is its cause, though it is no exception?

A warning, a word of a native library or of the system counts where what it tells can be felt as that failure: both say one
name or one error, or the failure says nothing itself and the line stands near it, since the last milestone, from the same
process or from nobody who is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from orchestrator.diagnosis.incident import Incident
from orchestrator.diagnosis.launches import LaunchLog
from orchestrator.diagnosis.lines import Line
from orchestrator.diagnosis.omens import OMENS, PENDING, Omen

ABOVE_LINES = 200
AFTER_LINES = 50
"""How far behind the failure a line that caused it may stand: processes do not write in order."""
_CODES = {
    1: "invalid argument", 2: "out of memory", 3: "initialization error", 100: "no CUDA-capable device",
    101: "invalid device ordinal", 201: "invalid device context", 209: "no kernel image", 304: "OS call failed",
    400: "invalid resource handle", 700: "illegal memory access", 719: "unspecified launch failure",
    801: "operation not supported", 802: "system not yet initialized", 999: "unknown error",
}  # fmt: skip
"""CUDA's numbers of errors, and the words that tell them in an exception."""
_CODE = re.compile(r"\b(?:code|error|status|failure)\W{1,3}(\d{1,3})\b")
_COMMON = frozenset(
    ("none", "module", "named", "import", "error", "failed", "load", "could", "cannot", "from", "with", "object", "attribute",
     "python", "site", "packages", "dist", "local", "attention", "backend", "backends", "kernel", "kernels", "model", "models",
     "plugin", "plugins", "found", "such", "file", "directory", "shared", "open", "name", "please", "valid", "type", "available",
     "supported", "symbol", "undefined", "version", "required", "this", "that", "have", "your", "torch", "cuda", "init", "main",
     "value", "runtime", "library")
)  # fmt: skip
"""Words that say nothing of which thing is meant."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]{2,}(?![a-z])|\d+[a-z]+")
_PRIVATE = re.compile(r"(?<![A-Za-z0-9])_[A-Za-z]\w{0,60}")


def cause_of(incident: Incident, launch: LaunchLog) -> tuple[Line, Omen] | None:
    """The line, and what kind it is; None where none is known to have caused the failure."""
    if incident.kind == "cut":  # what was raised is not in this log, so nothing can be felt as it
        return None
    for omen in OMENS:
        for line in launch.remarks.lines.get(omen.line, ()):
            if omen.told_by(line.message) and _came_of(incident, line, omen, launch):
                return line, omen
    return None


def may_cause(line: Line, incident: Incident, launch: LaunchLog) -> bool:
    """Whether a line stands where one may that caused the failure: above it where both say one name, else near above it,
    or just behind one that says little."""
    if _is_of(line, incident):
        return False
    first, startup = incident.first_line, launch.startup
    if line.number < first and _share_a_name(line.message, incident.root.text, launch):
        return True
    little = says_little(incident)
    last = incident.last_line + AFTER_LINES if little else first - 1
    if not first - ABOVE_LINES <= line.number <= last or startup.phase_at(line.number) != startup.phase_at(
        first
    ):
        return False
    return line.process is None or _is_same(line, incident) or little


def says_little(incident: Incident) -> bool:
    """Whether a failure tells no cause: it wraps another one, says that somebody is gone, or that something failed."""
    follows = incident.role != "initiating" or incident.died_only
    return follows or incident.root.gives_no_reason


def explains_away(omen: Omen) -> bool:
    """Whether what the exception itself says is then untrue, and so is a patch that goes by it alone."""
    return omen is PENDING


def _came_of(incident: Incident, line: Line, omen: Omen, launch: LaunchLog) -> bool:
    if _is_of(line, incident):
        return False
    text, before = incident.root.text, line.number < incident.first_line
    felt = omen.follows is not None and any(map(omen.follows.search, _told(incident)))
    if omen.by_name:
        return before and felt and _share_a_name(line.message, text, launch)
    if omen is PENDING:
        return before and felt and _is_same(line, incident) and _is_one_error(line.message, text)
    nobodys = line.process is None and line.level is None
    return (before or nobodys) and (felt or says_little(incident)) and may_cause(line, incident, launch)


def _told(incident: Incident) -> Iterable[str]:
    """Where what came of it is looked for: the exception's text, and the files that it passed through."""
    yield incident.root.text
    for frame in incident.root.frames:
        yield frame.file


def _is_of(line: Line, incident: Incident) -> bool:
    """Whether the line is one of those that the failure itself consists of."""
    return incident.first_line <= line.number <= incident.last_line and line.process == incident.process


def _is_same(line: Line, incident: Incident) -> bool:
    """A rank has another name once it knows its place, and keeps its pid."""
    if line.pid is not None and incident.pid is not None:
        return line.pid == incident.pid
    return line.process == incident.process


def _is_one_error(line: str, text: str) -> bool:
    if code := _CODE.search(line):
        words = _CODES.get(int(code[1]))
        return words is not None and words in text
    return any(words in text and words in line for words in _CODES.values())


def _share_a_name(line: str, text: str, launch: LaunchLog) -> bool:
    return bool((_names(line) & _names(text)) - {launch.grammar.kind})


def _names(text: str) -> set[str]:
    """What a text is about: its words without the common ones, those of CamelCase and of names_with_underscores apart."""
    words = {word.lower() for word in _WORD.findall(text[:2000])}
    return {word for word in words - _COMMON if len(word) > 3} | set(_PRIVATE.findall(text[:2000]))
