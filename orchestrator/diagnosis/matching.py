"""Does a patch recognise an incident?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Literal

from orchestrator.diagnosis.incident import Incident, Raised
from orchestrator.diagnosis.lines import Line
from orchestrator.engines.log_grammar import BackendRefusal, LogGrammar
from orchestrator.patches.circumstances import Circumstances
from orchestrator.patches.literals import search
from orchestrator.patches.match import Match
from orchestrator.patches.patch import Patch
from orchestrator.patches.wanted import Confidence, fits, launch_fits, settings_fit

During = Literal["start", "request", "hang"]
_ALTERNATIVES = {"phase", "compute_cap", "forced"}
_NO_EVIDENCE = {"confidence", "during", "not_text", "not_log"}
"""What a match says besides what it has seen."""
LINES_AFTER = 50
"""How far behind the failure a line that caused it may stand: processes do not write in order."""


@dataclass(frozen=True)
class Scene:
    """What is known about a launch besides its incidents.

    `phase_at` gives the phase in which a line was written, `remarks` the lines that fit the patches' own
    regular expressions, by expression.
    """

    grammar: LogGrammar
    known: Circumstances
    phase_at: Callable[[int], str] = lambda _: "starting"
    remarks: Mapping[str, Sequence[Line]] = field(default_factory=dict)


@dataclass(frozen=True)
class Recognised:
    """A patch, what it was recognised by (an exception of the chain, or a line near it), whose process that was,
    and the named groups of its patterns."""

    patch: Patch
    raised: Raised
    process: str | None
    groups: Mapping[str, str]
    confidence: Confidence


def recognise(
    patches: Sequence[Patch], incident: Incident, scene: Scene, *, during: During = "start"
) -> Recognised | None:
    """The patch that asks for most of what the incident shows, general ones left out where a special one fits; of two
    that ask for as much, the one that recognises it nearer to the root, then the first."""
    found: list[tuple[tuple[bool, int, int], Recognised]] = []
    for patch in patches:
        for match in patch.match:
            if match.during == during:
                for one in _recognitions(patch, match, incident, scene):
                    # of what says as much, the exception that is nearer to the root
                    distance = abs(one.raised.line - incident.root.line)
                    found.append(((match.of_the_failure, _said(match), -distance), one))
    general = {name for _, one in found for name in one.patch.instead_of}
    found = [pair for pair in found if pair[1].patch.id not in general]
    if not found:
        return None
    best = max(found, key=lambda pair: pair[0])[1]
    return _at_its_first(best, [one for _, one in found], incident)


def _at_its_first(best: Recognised, all_: Sequence[Recognised], incident: Incident) -> Recognised:
    """The patch that was chosen, shown by the first exception of the chain, or the first line beside it, that it
    recognises: what a library or a program says first is the deepest."""
    links = {raised.line: position for position, raised in enumerate(incident.chain)}
    alike = [
        one
        for one in all_
        if one.patch is best.patch and (one.raised.line in links) == (best.raised.line in links)
    ]
    first = min(alike, key=lambda one: (links.get(one.raised.line, 0), one.raised.line))
    return replace(first, groups={**first.groups, **best.groups})


def _said(match: Match) -> int:
    """How much a match asks for: of alternatives one, of what must all hold each."""
    asked = {name: getattr(match, name) for name in match.model_fields_set - _NO_EVIDENCE}
    return sum(
        len(value) if isinstance(value, (tuple, dict)) and name not in _ALTERNATIVES else 1
        for name, value in asked.items()
    )


def _recognitions(patch: Patch, match: Match, incident: Incident, scene: Scene) -> Iterator[Recognised]:
    if not _around(match, incident, scene):
        return
    remark = _remark(match, incident, scene) if match.line else None
    if match.line and remark is None:
        return
    if not match.of_the_failure:
        # a line alone is no reason to explain an exception away that says something itself
        silent = incident.role != "initiating" or incident.kind == "line"
        itself = incident.kind == "crash" and remark is not None and remark.number == incident.first_line
        silent = silent or itself
        if remark and silent:
            yield _by_line(patch, match, remark, {})
        elif not match.line:
            yield Recognised(patch, incident.root, incident.process, {}, match.confidence)
        return
    for raised in incident.chain:
        groups = _judge(match, raised, incident.process, scene.grammar)
        if groups is not None and remark:
            yield _by_line(patch, match, remark, groups)
        elif groups is not None:
            yield Recognised(patch, raised, incident.process, groups, match.confidence)


def _by_line(patch: Patch, match: Match, remark: Line, groups: Mapping[str, str]) -> Recognised:
    found = search(match.line or "", remark.message)
    named = _named(found) if found else {}
    raised = Raised(None, remark.message.strip(), remark.number)
    return Recognised(patch, raised, remark.process, {**groups, **named}, match.confidence)


def _remark(match: Match, incident: Incident, scene: Scene) -> Line | None:
    lines = scene.remarks.get(match.line or "", ())
    return next((line for line in lines if line.number <= incident.last_line + LINES_AFTER), None)


def _around(match: Match, incident: Incident, scene: Scene) -> bool:
    """What is asked of the launch rather than of the exception."""
    return (
        launch_fits(match, scene.known)
        and (not match.phase or scene.phase_at(incident.first_line) in match.phase)
        and all(scene.remarks.get(wanted) for wanted in match.log)
        and not any(scene.remarks.get(unwanted) for unwanted in match.not_log)
    )


def _judge(
    match: Match, raised: Raised, process: str | None, grammar: LogGrammar
) -> Mapping[str, str] | None:
    """The named groups of the pattern where all that is asked of an exception holds, else None."""
    if not (_names(match, raised, process) and _selector(match, raised.text, grammar)):
        return None
    if match.pattern is None:
        return {}
    found = search(match.pattern, raised.text)
    return _named(found) if found else None


def _named(found: re.Match[str]) -> dict[str, str]:
    return {name: value for name, value in found.groupdict().items() if value is not None}


def _names(match: Match, raised: Raised, process: str | None) -> bool:
    full = raised.exception or ""
    named = match.exception is None or any(
        fnmatchcase(name, match.exception) for name in (full, full.rpartition(".")[2])
    )
    text = _squashed(raised.text)
    return (
        named
        and (match.process is None or fits(process, (match.process,)))
        and all(_squashed(wanted) in text for wanted in match.text)
        and not any(_squashed(unwanted) in text for unwanted in match.not_text)
        and all(any(fnmatchcase(frame.file, wanted) for frame in raised.frames) for wanted in match.frames)
    )


def _squashed(text: str) -> str:
    return " ".join(text.split())


def _selector(match: Match, text: str, grammar: LogGrammar) -> bool:
    if not (match.reasons or match.forced or match.fields):
        return True
    refusal = grammar.refusal(text)
    if refusal is None:
        return False
    return (
        bool(match.forced) == (refusal.forced is not None)
        and (not match.forced or fits(refusal.forced, match.forced))
        and settings_fit(refusal.config, match.fields)
        and all(_exactly(refusal, backend, wanted) for backend, wanted in match.reasons.items())
    )


def _exactly(refusal: BackendRefusal, backend: str, wanted: tuple[str, ...]) -> bool:
    given = [reasons for name, reasons in refusal.reasons.items() if fnmatchcase(name, backend)]
    return bool(given) and all(sorted(reasons) == sorted(wanted) for reasons in given)
