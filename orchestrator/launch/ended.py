"""Who ended a launch, as far as the host knows? Pure."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from orchestrator.diagnosis.endings import is_left_behind
from orchestrator.diagnosis.verdict import Diagnosis, Finding, Remedy, RootCause
from orchestrator.engines.log_grammar import ProcessNames
from orchestrator.patches.literals import search
from orchestrator.patches.patch import Patch
from orchestrator.patches.wanted import Confidence
from orchestrator.programs.ended import End, Reported

OUT_OF_MEMORY = "host-out-of-memory"
LIMIT_REACHED = "memory-limit-reached"
"""The patches that know what the kernel's out-of-memory killer does: for want of the machine's memory, or by a group's limit."""
GUESSED = "process-killed"
"""The one that knows from the log alone that somebody sent SIGKILL."""
KILLED = 128 + signal.SIGKILL
GIB = 1 << 30
_MAKERS = (
    (re.compile(r"/(?:docker|libpod)[-/]([0-9a-f]{12})"), "the container"),
    (
        re.compile(r"/kubepods\S{0,300}(?:cri-containerd-|crio-|docker-|/)([0-9a-f]{12})[0-9a-f]{52}"),
        "the pod's container",
    ),
    (re.compile(r"/job_(\d{1,12})\b"), "the batch job"),
    (re.compile(r"/([\w@.-]{1,120}\.(?:service|scope|slice))$"), "the unit"),
)
"""Who makes control groups, by how their paths look."""
_SHELLS_WORD = "Killed"
"""What a shell prints into the log of a program that was killed under it; how it ended is on record (`on_host/kinds/`)."""
_FROM_OUTSIDE = (128 + signal.SIGHUP, 128 + signal.SIGINT, KILLED, 128 + signal.SIGTERM)


@dataclass(frozen=True)
class Judged:
    """A diagnosis with what the host adds to it; `known` is that in words, "" where it adds nothing."""

    diagnosis: Diagnosis
    known: str = ""
    from_outside: bool = False
    """Whether SIGKILL ended it, nobody knows by whom, and nothing else explains the end: it may well not come again."""


def named(log: Iterable[bytes], processes: ProcessNames) -> dict[int, str]:
    """The processes that a log's own headers name, by pid; what stands further inside a line is nobody's word."""
    matches = (match for line in log for match in processes.named.finditer(line))
    return {int(match["pid"]): match["name"].decode(errors="replace") for match in matches}


def of_its_own(exit_code: int | None) -> bool:
    """Whether the engine ended itself, by an error or a crash; None is what a supervisor leaves that was killed too."""
    return exit_code not in (None, 0, *_FROM_OUTSIDE)


def open_to_doubt(diagnosis: Diagnosis) -> bool:
    """Whether the log alone does not settle the cause, so that it is worth asking the host: what a rank says of a peer that is
    gone may be all that is said of one that the kernel killed here."""
    finding = diagnosis.finding
    return finding is None or finding.confidence == "likely" or _of_others(diagnosis)


def judge(
    diagnosis: Diagnosis,
    ended: End,
    ours: Mapping[int, str],
    patches: Sequence[Patch],
    *,
    silent: str | None = None,
) -> Judged:
    """What is true of the end by log and host together; `ours` names the launch's processes by pid, `silent` one that ended
    without a word (`unsaid.py`).

    A kill is told as a fact where the kernel's log names a process of ours or the launch's own control group counts
    one more, as likely where only the machine does.
    """
    if ended.rebooted:
        return Judged(diagnosis, "the machine was started anew since the launch began")
    diagnosis, unsaid = _by_its_record(diagnosis, ended.exit_code)
    guessed = diagnosis.finding is not None and diagnosis.finding.patch == GUESSED
    if diagnosis.finding is not None and not guessed and not _of_others(diagnosis):
        return Judged(diagnosis)
    kills = ended.kernel or ()
    if ended_ours := [kill for kill in kills if kill.pid in ours]:
        first = ended_ours[0]
        whose = f", by the limit of {_group(first.group)}" if first.group else ""
        limited = first.group is not None or first.text.startswith("Memory cgroup ")
        known = f"the kernel's log: {first.text}{whose}"
        return _by_the_kernel(diagnosis, known, ours[first.pid], patches, limited=limited)
    if _explained(diagnosis) and not guessed:
        return Judged(diagnosis)
    if fault := _fault(ended, ours):
        return _by_a_fault(diagnosis, fault, ours, patches)
    if ended.oom_kills.group:
        limit = ended.oom_kills.limit
        known = f"the kernel killed {_processes(ended.oom_kills.group)} of the launch's control group for want of memory"
        known += f": it may use {limit / GIB:.1f} GiB" if limit else ""
        return _by_the_kernel(diagnosis, known, None, patches, limited=limit is not None)
    if ended.exit_code != KILLED and silent is not None:
        return _by_silence(diagnosis, silent, ended, patches)
    if not guessed and ended.exit_code != KILLED:
        return Judged(diagnosis)
    how = "" if guessed and not unsaid else "ended by SIGKILL; "
    if by_the_kernel := _likely_by_the_kernel(ended):
        return Judged(_likely(diagnosis, patches), how + by_the_kernel, from_outside=True)
    return Judged(diagnosis, f"{how}nobody knows by whom: {_no_trace(ended)}", from_outside=True)


def _likely_by_the_kernel(ended: End) -> str:
    """What the kernel killed of other launches' processes, in words; "" where it killed none."""
    if not ended.kernel and not (ended.oom_kills.machine and ended.kernel is None):
        return ""
    count = _processes(len(ended.kernel or ()) or ended.oom_kills.machine or 0)
    return f"likely by the kernel, which killed {count} of this machine for want of memory since it began"


def _no_trace(ended: End) -> str:
    if ended.kernel is None and ended.oom_kills.machine != 0:
        return "the kernel's log cannot be read"
    source = "the kernel's log shows" if ended.kernel is not None else "the kernel counts"
    return f"{source} no out-of-memory kill since it began"


def _by_silence(diagnosis: Diagnosis, silent: str, ended: End, patches: Sequence[Patch]) -> Judged:
    """A process ended without a word, in the log or of the kernel's: nothing but SIGKILL ends one so, as far as anybody looked.

    Where the kernel's log cannot be read it may have crashed as well, and would again.
    """
    if by_the_kernel := _likely_by_the_kernel(ended):
        known = f"{silent} ended without a word: {by_the_kernel}"
        killed = _with_finding(diagnosis, patches, "likely", OUT_OF_MEMORY)
    else:
        killed = _with_finding(diagnosis, patches, "likely", GUESSED)
        how = "killed" if ended.kernel is not None else "killed, or crashed"
        known = f"{silent} ended without a word: {how}, nobody knows by whom; {_no_trace(ended)}"
    judged = _with_cause(killed, known, None)
    return replace(judged, from_outside=ended.kernel is not None)


def _of_others(diagnosis: Diagnosis) -> bool:
    """Whether the log only says that another process is gone."""
    return diagnosis.root_cause is not None and diagnosis.root_cause.role == "teardown"


def _by_its_record(diagnosis: Diagnosis, exit_code: int | None) -> tuple[Diagnosis, bool]:
    """The diagnosis without a shell's word for what is on record, or what a program leaves behind however it ends, and whether there was
    one: a cause of the engine's own it is none, and of another signal than SIGKILL the shell's is not even true."""
    root = diagnosis.root_cause
    if root is None or exit_code not in _FROM_OUTSIDE:
        return diagnosis, False
    if root.text != _SHELLS_WORD and (root.exception is not None or not is_left_behind(root.text)):
        return diagnosis, False
    if exit_code == KILLED:
        return diagnosis.model_copy(update={"root_cause": None}), True
    nothing = {"verdict": "unknown_fault", "root_cause": None, "finding": None, "remedy": None}
    return diagnosis.model_copy(update=nothing), True


def _explained(diagnosis: Diagnosis) -> bool:
    """Whether the log names a cause of its own, not only that something else failed."""
    root = diagnosis.root_cause
    if root is None or diagnosis.verdict in ("healthy", "starting"):
        return False
    return root.role == "initiating"


def _processes(count: int) -> str:
    return f"{count} process{'es' if count != 1 else ''}"


def _fault(ended: End, ours: Mapping[int, str]) -> Reported | None:
    """What the kernel says of a process of ours, else of a card that nobody is named of."""
    own = [fault for fault in ended.faults if fault.pid in ours]
    cards = [fault for fault in ended.faults if fault.pid is None]
    return next(iter((*own, *cards)), None)


def _by_a_fault(
    diagnosis: Diagnosis, fault: Reported, ours: Mapping[int, str], patches: Sequence[Patch]
) -> Judged:
    """What ended it by the driver's or the processor's word; a patch that looks for such a line in a log knows it here too."""
    known = f"the kernel's log: {fault.text}"
    patch = next((patch for patch in patches if _knows(patch, fault.text)), None)
    if patch is None:
        return Judged(diagnosis, known)
    # a card of which no pid is named may be another launch's
    confidence: Confidence = "certain" if fault.pid is not None else "likely"
    process = ours.get(fault.pid) if fault.pid is not None else None
    return _with_cause(_with_finding(diagnosis, patches, confidence, patch.id), known, process)


def _knows(patch: Patch, text: str) -> bool:
    return any(match.line is not None and search(match.line, text) for match in patch.match)


def _group(path: str) -> str:
    """A control group by the name of who made it, as people know it."""
    for made_by, words in _MAKERS:
        if name := made_by.search(path):
            return f"{words} {name[1]}"
    return f"the control group {path}"


def _by_the_kernel(
    diagnosis: Diagnosis, known: str, process: str | None, patches: Sequence[Patch], *, limited: bool
) -> Judged:
    """What the log has as the root cause only follows from the kill; `limited`: by the limit of a group."""
    diagnosed = _with_finding(diagnosis, patches, "certain", LIMIT_REACHED if limited else OUT_OF_MEMORY)
    return _with_cause(diagnosed, known, process)


def _with_cause(diagnosis: Diagnosis, known: str, process: str | None) -> Judged:
    line = diagnosis.root_cause.line if diagnosis.root_cause else _last_line(diagnosis)
    root = RootCause(text=known, line=line, process=process, exception=None)
    return Judged(diagnosis.model_copy(update={"root_cause": root}), known)


def _likely(diagnosis: Diagnosis, patches: Sequence[Patch]) -> Diagnosis:
    return diagnosis if diagnosis.finding else _with_finding(diagnosis, patches, "likely", OUT_OF_MEMORY)


def _with_finding(
    diagnosis: Diagnosis, patches: Sequence[Patch], confidence: Confidence, name: str
) -> Diagnosis:
    patch = next((candidate for candidate in patches if candidate.id == name), None)
    if patch is None:
        return diagnosis
    finding = Finding(
        patch=patch.id,
        category=patch.category,
        title=patch.title,
        explanation=patch.explanation,
        confidence=confidence,
    )
    remedy = Remedy(automatic=False, actions=(), advice=patch.advice)
    return diagnosis.model_copy(update={"verdict": "fault", "finding": finding, "remedy": remedy})


def _last_line(diagnosis: Diagnosis) -> int:
    return diagnosis.evidence[-1].line if diagnosis.evidence else 1
