"""Does a patch recognise an incident?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal

from orchestrator.diagnosis import beside, notices
from orchestrator.diagnosis.incident import Incident, Raised
from orchestrator.diagnosis.launches import LaunchLog
from orchestrator.diagnosis.lines import Line
from orchestrator.diagnosis.own_words import refused_in
from orchestrator.engines.log_grammar import BackendRefusal, LogGrammar
from orchestrator.engines.waits import Wait
from orchestrator.patches.known import Known
from orchestrator.patches.literals import search
from orchestrator.patches.match import Match
from orchestrator.patches.patch import Patch
from orchestrator.patches.wanted import Confidence, fits, settings_fit

During = Literal["start", "request", "hang"]
_ALTERNATIVES = {"phase", "compute_cap", "forced", "stack"}
_NO_EVIDENCE = {"confidence", "during", "not_text", "not_log", "refused_in"}
"""What a match says besides what it has seen, or where nothing else is known."""


@dataclass(frozen=True)
class Recognised:
    """A patch, what it was recognised by (an exception of the chain, or a line near it), whose process that was,
    and the named groups of its patterns."""

    patch: Patch
    raised: Raised
    process: str | None
    groups: Mapping[str, str]
    confidence: Confidence
    by_line: bool = False
    """Whether it was recognised by a line beside the exception."""
    general: bool = False
    """Whether it was recognised by the place that raised it alone."""
    in_other_words: Raised | None = None
    """What says the same beside that line: another one of the patch, or an exception that it would know without."""


def recognise(
    patches: Sequence[Patch],
    incident: Incident,
    launch: LaunchLog,
    known: Known,
    *,
    during: During = "start",
    wait: Wait | None = None,
) -> Recognised | None:
    """The patch that asks for most of what the incident shows, general ones left out where a special one fits; one that knows
    what the failure came of goes before those that know the failure alone. Of two that ask for as much, the one that
    recognises it nearer to the root, then the first. `wait` is what keeps a launch that stands still, where stacks show it:
    what asks for that goes before all else."""
    ranked: list[tuple[tuple[bool, bool, int, int], Recognised]] = []
    names = {raised.exception or "" for raised in incident.chain}
    texts = {raised.words for raised in incident.chain}
    for patch in (each for each in patches if each.concerns(launch.grammar.kind)):
        for match in patch.match:
            if match.during != during or (match.stack and wait not in match.stack):
                continue
            if not _may_be_shown(match, names, texts, launch):
                continue
            shown = list(_recognitions(patch, match, incident, launch, known))
            if not shown or not _around(
                match, incident, launch, known
            ):  # few get as far as the second question
                continue
            for recognised in shown:
                # of what says as much, the exception that is nearer to the root
                distance = abs(recognised.raised.line - incident.root.line)
                worth = (
                    match.because_of is not None or bool(match.stack),
                    match.of_the_failure and not match.refused_in,
                    _demands(match),
                    -distance,
                )
                noted = _noted(match, incident, launch)
                ranked.append((worth, replace(recognised, groups={**noted, **recognised.groups})))
    general = {name for _, recognised in ranked for name in recognised.patch.instead_of}
    ranked = [pair for pair in ranked if pair[1].patch.id not in general]
    if not ranked:
        return None
    best = max(ranked, key=lambda pair: pair[0])[1]
    return _at_its_first(best, [recognised for _, recognised in ranked], incident)


def _at_its_first(best: Recognised, all_: Sequence[Recognised], incident: Incident) -> Recognised:
    """The patch that was chosen, shown by the first exception of the chain, or the first line beside it, that it
    recognises: what a library or a program says first is the deepest."""
    links = {raised.line: position for position, raised in enumerate(incident.chain)}
    by_it = [each for each in all_ if each.patch is best.patch]
    # a line that ended a launch is no exception: those beside it are of its kind
    alike = [
        each
        for each in by_it
        if incident.kind == "line" or (each.raised.line in links) == (best.raised.line in links)
    ]
    telling = [each for each in alike if not each.raised.gives_no_reason]
    first = min(telling or alike, key=lambda each: (links.get(each.raised.line, 0), each.raised.line))
    same = _in_other_words(first, by_it) if incident.kind != "line" else None
    return replace(first, groups={**first.groups, **best.groups}, in_other_words=same)


def _in_other_words(line: Recognised, by_it: Sequence[Recognised]) -> Raised | None:
    """Of a failure that a patch recognised by a line: another line of it just behind, or the exception where that alone would
    have proven the same."""
    if not line.by_line:
        return None
    first = line.raised.line
    behind = [
        each
        for each in by_it
        if each.by_line
        and first < each.raised.line <= first + beside.AFTER_LINES
        and not notices.is_notice(each.raised.text)
    ]
    proven = [each for each in by_it if not each.by_line and each.confidence == "certain"]
    same = next((each.raised for each in (*behind, *proven)), None)
    return None if same is None or _squashed(line.raised.text) in _squashed(same.text) else same


def _demands(match: Match) -> int:
    """How much a match asks for: of alternatives one, of what must all hold each."""
    demanded = {name: getattr(match, name) for name in match.model_fields_set - _NO_EVIDENCE}
    return sum(
        len(value) if isinstance(value, (tuple, dict)) and name not in _ALTERNATIVES else 1
        for name, value in demanded.items()
    )


def _may_be_shown(match: Match, names: Set[str], texts: Set[str], launch: LaunchLog) -> bool:
    """Whether what most matches lack is there. A catalogue has a thousand, and looking closely costs ten times as much."""
    line = match.because_of or match.line
    return (
        (line is None or line in launch.remarks.lines)
        and (match.exception is None or any(_called(name, match.exception) for name in names))
        and (not match.text or any(_all_in(match.text, text) for text in texts))
        and (match.pattern is None or any(search(match.pattern, text) for text in texts))
    )


def _recognitions(
    patch: Patch, match: Match, incident: Incident, launch: LaunchLog, known: Known
) -> Iterator[Recognised]:
    asks_for_a_line = match.line is not None or match.because_of is not None
    remark = _remark(match, incident, launch) if asks_for_a_line else None
    if asks_for_a_line and remark is None:
        return
    if not match.of_the_failure:
        # a line alone is no reason to explain an exception away that says something itself
        silent = incident.role != "initiating" or incident.kind == "line" or incident.died_only
        itself = incident.kind == "crash" and remark is not None and remark.number == incident.first_line
        silent = silent or itself or (match.because_of is not None and beside.says_little(incident))
        if remark and silent:
            yield _by_line(patch, match, remark, {})
        elif not asks_for_a_line:
            yield Recognised(patch, incident.root, incident.process, {}, match.confidence)
        return
    for raised in incident.chain:
        groups = _judge(match, raised, incident.process, launch.grammar, known)
        if groups is not None and remark:
            yield _by_line(patch, match, remark, groups)
        elif groups is not None:
            general = bool(match.refused_in)
            yield Recognised(patch, raised, incident.process, groups, match.confidence, general=general)


def _by_line(patch: Patch, match: Match, remark: Line, groups: Mapping[str, str]) -> Recognised:
    fitting = search(match.because_of or match.line or "", remark.message)
    named = _named(fitting) if fitting else {}
    raised = Raised(None, remark.message.strip(), remark.number)
    return Recognised(patch, raised, remark.process, {**groups, **named}, match.confidence, by_line=True)


def _remark(match: Match, incident: Incident, launch: LaunchLog) -> Line | None:
    if match.because_of is not None:
        lines = launch.remarks.lines.get(match.because_of, ())
        return next((line for line in lines if beside.may_cause(line, incident, launch)), None)
    lines = launch.remarks.lines.get(match.line or "", ())
    return next((line for line in lines if line.number <= incident.last_line + beside.AFTER_LINES), None)


def _around(match: Match, incident: Incident, launch: LaunchLog, known: Known) -> bool:
    """What is asked of the launch rather than of the exception."""
    remarks = launch.remarks.lines
    return (
        known.fit(match)
        and (not match.phase or launch.startup.phase_at(incident.first_line) in match.phase)
        and all(remarks.get(wanted) for wanted in match.log)
        and not any(remarks.get(unwanted) for unwanted in match.not_log)
    )


def _noted(match: Match, incident: Incident, launch: LaunchLog) -> Mapping[str, str]:
    """The named groups of what is found in the log, by the last line that fits up to the end of the failure."""
    groups: dict[str, str] = {}
    for wanted in match.log:
        lines = launch.remarks.lines[wanted]
        before = [line for line in lines if line.number <= incident.last_line]
        if fitting := search(wanted, (before or lines)[-1].message):
            groups.update(_named(fitting))
    return groups


def _judge(
    match: Match, raised: Raised, process: str | None, grammar: LogGrammar, known: Known
) -> Mapping[str, str] | None:
    """The named groups of the pattern where all that is asked of an exception holds, else None."""
    if not (_names(match, raised, process) and _selector(match, raised.text, grammar, known)):
        return None
    if match.pattern is None:
        return {}
    fitting = search(match.pattern, raised.words)
    return _named(fitting) if fitting else None


def _named(fitting: re.Match[str]) -> dict[str, str]:
    return {name: value for name, value in fitting.groupdict().items() if value is not None}


def _names(match: Match, raised: Raised, process: str | None) -> bool:
    return (
        (match.exception is None or _called(raised.exception or "", match.exception))
        and (match.process is None or fits(process, (match.process,)))
        and (not match.text or _all_in(match.text, raised.words))
        and not any(unwanted in _squashed(raised.words) for unwanted in _all_squashed(match.not_text))
        and all(any(fnmatchcase(frame.file, wanted) for frame in raised.frames) for wanted in match.frames)
        and (not match.refused_in or refused_in(raised, match.refused_in))
    )


def _all_in(wanted: tuple[str, ...], text: str) -> bool:
    return all(each in _squashed(text) for each in _all_squashed(wanted))


@lru_cache(maxsize=2048)
def _called(exception: str, wanted: str) -> bool:
    last = re.split(r"\.|::", exception)[-1]
    return any(fnmatchcase(name, wanted) for name in (exception, last))


@lru_cache(maxsize=2048)
def _all_squashed(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_squashed(text) for text in texts)


@lru_cache(maxsize=64)
def _squashed(text: str) -> str:
    """Every patch asks the same exceptions."""
    return " ".join(text.split())


def _selector(match: Match, text: str, grammar: LogGrammar, known: Known) -> bool:
    if not (match.reasons or match.forced or match.fields or match.mended_by):
        return True
    refusal = grammar.refusal(text)
    if refusal is None:
        return False
    return (
        bool(match.forced) == (refusal.forced is not None)
        and (not match.forced or fits(refusal.forced, match.forced))
        and settings_fit(refusal.config, match.fields)
        and all(_exactly(refusal, backend, wanted) for backend, wanted in match.reasons.items())
        and (match.mended_by is None or _mended(refusal, match.mended_by, grammar, known))
    )


def _mended(refusal: BackendRefusal, setting: str, grammar: LogGrammar, known: Known) -> bool:
    change = grammar.least_change(refusal, known.arguments)
    return change is not None and change.settings == (setting,)


def _exactly(refusal: BackendRefusal, backend: str, wanted: tuple[str, ...]) -> bool:
    given = [reasons for name, reasons in refusal.reasons.items() if fnmatchcase(name, backend)]
    return bool(given) and all(sorted(reasons) == sorted(wanted) for reasons in given)
