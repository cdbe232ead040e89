"""What is the root cause in a launch log, and what mends it?

Pure: raw lines in, a value out; one pass, memory bounded whatever the size of the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from orchestrator.diagnosis import beside, cut_off, endings, own_words, serving
from orchestrator.diagnosis.answer import asked, finding, remedy
from orchestrator.diagnosis.following import last_launch
from orchestrator.diagnosis.hang import hangs, keeper, last_word
from orchestrator.diagnosis.incident import Incident, Raised, role_of
from orchestrator.diagnosis.launches import FoldedIncident, LaunchLog
from orchestrator.diagnosis.lines import Line, read
from orchestrator.diagnosis.matching import Recognised, recognise
from orchestrator.diagnosis.remarks import Watched
from orchestrator.diagnosis.root import root_of
from orchestrator.diagnosis.scan import scan
from orchestrator.diagnosis.stacks import Stack
from orchestrator.diagnosis.standing import Keeper
from orchestrator.diagnosis.verdict import Diagnosis, EvidenceLine, Finding, Folded, Remedy, RootCause, Writer
from orchestrator.engines.log_grammar import LogGrammar
from orchestrator.patches.known import Known
from orchestrator.patches.patch import Patch
from orchestrator.patches.proposal import ProposedAction

__all__ = [
    "Diagnosis", "EvidenceLine", "Finding", "Folded", "ProposedAction", "Remedy", "RootCause",
    "diagnose", "diagnose_log", "judge",
]  # fmt: skip


_LONGEST_EVIDENCE = 600


def diagnose(
    lines: Iterable[bytes], *, grammar: LogGrammar, known: Known, patches: Sequence[Patch]
) -> Diagnosis:
    """The verdict on the last launch of a log, given as raw lines; what the log says wins over what is `known` besides."""
    return judge(
        last_launch(read(lines, grammar), grammar, Watched.of(patches, grammar.kind)),
        known=known,
        patches=patches,
    )


def diagnose_log(
    chunks: Iterable[bytes],
    *,
    grammar: LogGrammar,
    known: Known,
    patches: Sequence[Patch],
    dumped: Sequence[Stack] = (),
) -> Diagnosis:
    """The same, given as the log's bytes, and much faster: what cannot tell anything is passed over. `dumped` are stacks of
    the launch's processes from files of their own, where it is known that it does not go on."""
    launch = scan(chunks, grammar, Watched.of(patches, grammar.kind))
    return judge(launch, known=known, patches=patches, dumped=dumped)


def judge(
    launch: LaunchLog, *, known: Known, patches: Sequence[Patch], dumped: Sequence[Stack] = ()
) -> Diagnosis:
    """The verdict on a launch."""
    writer = Writer(kind=launch.grammar.kind, version=launch.startup.version or known.version)
    judged = _judged(launch, known, patches, dumped)
    return judged.model_copy(update={"engine": writer, "meeting": launch.startup.meeting})


def _judged(launch: LaunchLog, known: Known, patches: Sequence[Patch], dumped: Sequence[Stack]) -> Diagnosis:
    if known.served and launch.startup.up_line is None:
        came_up = launch.as_served()
        if came_up is None:
            return Diagnosis(verdict="healthy")
        launch = came_up
    known = launch.startup.known.over(known)
    root = root_of(launch, ended=known.ended)
    if root is not None:
        return _failed(launch, root, known, patches)
    refused = _refuses_requests(launch, known, patches)
    if refused is not None:
        return refused
    served = serving.shown(launch)
    stands = hangs(launch, known.idle_seconds, dumped, serves=served is not None)
    if served is not None and not stands:
        return _of_served(served, launch)
    ended = _ended(launch, known, patches) if served is None else None
    if ended is not None:
        return ended
    if stands:
        return _hanging(launch, known, patches, keeper(launch, dumped))
    if launch.startup.up_line:
        return Diagnosis(verdict="healthy", evidence=_milestone(launch))
    if known.served:
        return Diagnosis(verdict="healthy")
    last = launch.startup.last
    by_a_line = _by_a_line(launch, last, known, patches) if last else None
    return by_a_line or Diagnosis(verdict="starting", evidence=_milestone(launch))


def _of_served(served: serving.Served, launch: LaunchLog) -> Diagnosis:
    """A server of whose start the log says nothing, by its last requests."""
    if served.state == "serves":
        return Diagnosis(
            verdict="healthy", evidence=(EvidenceLine(line=served.line.number, text=served.line.message),)
        )
    return Diagnosis(verdict="unknown_fault", root_cause=_caused_by_line(served.line, launch))


def _ended(launch: LaunchLog, known: Known, patches: Sequence[Patch]) -> Diagnosis | None:
    """A launch that was not up and says by a line that it ended; why, a patch may know."""
    if launch.startup.up_line is not None:
        return None
    clients = launch.startup.clients or known.served
    words = [launch.startup.stopping if clients else endings.last_word(launch), launch.startup.stopping]
    lines = [line for line in words if line is not None]
    for line in lines:
        if by_a_line := _by_a_line(launch, line, known, patches):
            return by_a_line
    if not lines:
        return None
    cause = _caused_by_line(lines[0], launch)
    elsewhere = endings.is_a_launchers(lines[0], launch)
    return Diagnosis(
        verdict="unknown_fault",
        root_cause=cause,
        remedy=Remedy(advice=(endings.ELSEWHERE,)) if elsewhere else None,
        evidence=_milestone(launch),
    )


def _failed(launch: LaunchLog, root: FoldedIncident, known: Known, patches: Sequence[Patch]) -> Diagnosis:
    incident = root.incident
    recognised = recognise(patches, incident, launch, known) or _by_quotation(
        incident, launch, known, patches
    )
    came_of = beside.cause_of(incident, launch)
    if came_of is not None and (
        recognised is None
        or recognised.general
        or (beside.explains_away(came_of[1]) and not recognised.by_line)
    ):
        return _came_of(launch, root, came_of[0], known, patches)
    if recognised is not None:
        return _fault(launch, root, recognised, known)
    raised = incident.root
    missing = incident.role == "cascade" and _quoted(raised, launch.grammar) is None
    advice = (
        (cut_off.to_fetch(incident, launch.grammar),)
        if missing
        else asked(own_words.without_frame(raised.text, launch.grammar.failures))
    )
    return Diagnosis(
        verdict="unknown_fault",
        root_cause=_caused(raised, incident.process, launch.grammar, missing=missing),
        remedy=Remedy(advice=advice) if advice else None,
        evidence=_evidence(launch, incident, raised),
        folded=_folded(launch, root),
    )


def _came_of(
    launch: LaunchLog, root: FoldedIncident, line: Line, known: Known, patches: Sequence[Patch]
) -> Diagnosis:
    """A failure of which no patch knows that it came of that line; one may know what the line tells.

    That the one came of the other was worked out, so it is likely at most.
    """
    raised = Raised(None, line.message.strip(), line.number, role=root.incident.root.role)
    recognised = recognise(patches, _line_alone(line, launch), launch, known)
    if recognised is not None:
        return _fault(launch, root, replace(recognised, confidence="likely"), known)
    return Diagnosis(
        verdict="unknown_fault",
        root_cause=_caused(raised, line.process, launch.grammar),
        evidence=_evidence(launch, root.incident, raised),
        folded=_folded(launch, root),
    )


def _fault(launch: LaunchLog, folded: FoldedIncident, recognised: Recognised, known: Known) -> Diagnosis:
    return Diagnosis(
        verdict="fault",
        root_cause=_caused(recognised.raised, recognised.process, launch.grammar, recognised.in_other_words),
        finding=finding(recognised, known),
        remedy=remedy(recognised, known, launch.grammar),
        evidence=_evidence(launch, folded.incident, recognised.raised),
        folded=_folded(launch, folded),
    )


def _refuses_requests(launch: LaunchLog, known: Known, patches: Sequence[Patch]) -> Diagnosis | None:
    """The engine serves, but a request failed in a way that a patch knows to befall every request."""
    up = launch.startup.up_line
    for folded in launch.incidents if up else ():
        incident = folded.incident
        if incident.role == "initiating" and incident.level and incident.first_line > (up or 0):
            recognised = recognise(patches, incident, launch, known, during="request")
            if recognised is not None:
                return _fault(launch, folded, recognised, known)
    return None


def _hanging(launch: LaunchLog, known: Known, patches: Sequence[Patch], kept: Keeper | None) -> Diagnosis:
    """The last line is what is told, and judged; or who keeps it, where stacks were dumped."""
    last = last_word(launch) or (kept.as_line if kept else None)
    if last is None:
        return Diagnosis(verdict="hang")
    wait = kept.wait if kept else None
    recognised = recognise(patches, _line_alone(last, launch), launch, known, during="hang", wait=wait)
    return Diagnosis(
        verdict="hang",
        root_cause=_kept(kept, last) if kept else _caused_by_line(last, launch),
        finding=finding(recognised, known) if recognised else None,
        remedy=remedy(recognised, known, launch.grammar) if recognised else None,
        evidence=(*_milestone(launch), *(_standing(kept, last) if kept else ())),
    )


def _kept(kept: Keeper, last: Line) -> RootCause:
    who = kept.by.stack
    return RootCause(
        text=kept.by.sentence,
        line=who.line or last.number,
        process=who.process,
        exception=None,
        by_stack=True,
    )


def _standing(kept: Keeper, last: Line) -> Iterator[EvidenceLine]:
    """Where the other processes stand, and the last line that the log has."""
    for line, text in kept.others:
        yield EvidenceLine(line=line or last.number, text=text)
    if last.message.strip() and last != kept.as_line:
        yield EvidenceLine(line=last.number, text=last.message.strip()[:_LONGEST_EVIDENCE])


def _by_a_line(launch: LaunchLog, last: Line, known: Known, patches: Sequence[Patch]) -> Diagnosis | None:
    """A launch that ended without a word of its own but its `last`, by a line that a patch knows to end it."""
    alone = _line_alone(last, launch)
    recognised = recognise(patches, alone, launch, known)
    if recognised is None or recognised.raised.line < launch.startup.phase.line:
        return None
    return _fault(launch, FoldedIncident(alone, [], 1), recognised, known)


def _line_alone(line: Line, launch: LaunchLog) -> Incident:
    text = "" if line.hearsay else line.message.strip()
    raised = Raised(None, text, line.number, role=role_of(text, launch.grammar.failures))
    return Incident(
        "line", "cascade", line.process, line.pid, line.level, "", (raised,), line.number, line.number, 1
    )


def _by_quotation(
    incident: Incident, launch: LaunchLog, known: Known, patches: Sequence[Patch]
) -> Recognised | None:
    """Where only the wrapper of a worker's failure is left, the words of the worker that it quotes."""
    words = _quoted(incident.root, launch.grammar)
    if incident.role != "cascade" or words is None:
        return None
    quoted = Raised(None, words, incident.root.line)
    anonymous = tuple(
        patch.model_copy(update={"match": tuple(_without_name(match) for match in patch.match)})
        for patch in patches
    )
    recognised = recognise(anonymous, replace(incident, chain=(quoted,)), launch, known)
    return replace(recognised, confidence="likely") if recognised else None


def _quoted(wrapper: Raised, grammar: LogGrammar) -> str | None:
    quotation = grammar.failures.quotation
    match = quotation.search(wrapper.text) if quotation else None
    return match["text"] if match else None


def _without_name(match: Any) -> Any:
    return (
        match.model_copy(update={"exception": None})
        if match.text or match.pattern or match.reasons
        else match
    )


def _short(exception: str | None) -> str | None:
    return exception.rpartition(".")[2] if exception else None


def _caused(
    raised: Raised,
    process: str | None,
    grammar: LogGrammar,
    in_other_words: Raised | None = None,
    *,
    missing: bool = False,
) -> RootCause:
    text = own_words.decided(own_words.without_frame(raised.words, grammar.failures))
    return RootCause(
        text="\n".join([text, *(in_other_words.text.split("\n", 1)[:1] if in_other_words else ())]),
        line=raised.line,
        process=process,
        exception=_short(raised.exception),
        role=raised.role,
        missing=missing,
    )


def _evidence(launch: LaunchLog, incident: Incident, root: Raised) -> tuple[EvidenceLine, ...]:
    """The root cause, the rest of its chain, and what of its settings belongs to it."""
    lines = [
        (raised.line, raised.text)
        for raised in (root, *(link for link in incident.chain if link is not root))
    ]
    startup = launch.startup
    if startup.engine_line and startup.shown:
        lines.append((startup.engine_line, startup.shown))
    return tuple(EvidenceLine(line=line, text=text[:_LONGEST_EVIDENCE]) for line, text in lines)


def _folded(launch: LaunchLog, root: FoldedIncident) -> Folded:
    others = [name for name in root.processes if name != root.incident.process]
    after = [
        folded
        for folded in launch.incidents
        if folded is not root and folded.incident.role in ("cascade", "teardown")
    ]
    return Folded(
        processes=tuple(others),
        lines=root.lines - root.incident.lines + sum(folded.lines for folded in after),
    )


def _caused_by_line(line: Line, launch: LaunchLog) -> RootCause:
    text = line.message.strip()
    role = role_of(text, launch.grammar.failures)
    return RootCause(text=text, line=line.number, process=line.process, exception=None, role=role)


def _milestone(launch: LaunchLog) -> tuple[EvidenceLine, ...]:
    """How far the launch came, and that it was told to stop, if it was."""
    phase, stopping = launch.startup.phase, launch.startup.stopping
    evidence = [EvidenceLine(line=phase.line, text=phase.name)] if phase.line else []
    return (*evidence, *([EvidenceLine(line=stopping.number, text=stopping.message)] if stopping else []))
