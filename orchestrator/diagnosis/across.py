"""Of the logs of all hosts of one launch, which has the cause?

Pure. When one host of a launch dies its peers say so in many words: that a connection broke, that nobody answered in time,
that a call to a worker was never returned. None of that is a cause, and the one log that has it may be the one that ended last,
or belong to a host that answers no requests.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from orchestrator.diagnosis.crashes import died_only
from orchestrator.diagnosis.verdict import Diagnosis, Verdict
from orchestrator.engines.log_grammar import LogGrammar

SAME_MOMENT_SECONDS = 2.0
"""What is no longer apart tells nothing of what came first: times of a log are whole seconds, and two clocks differ."""
_UNANSWERED = re.compile(
    r"DistStoreError|Timed out (?:after \d+ seconds )?waiting (?:for clients|\d+ ?ms for (?:recv|send) operation)"
    r"|connectFullMesh failed|gloo/transport/[^\s\]]{1,120}\] (?:timed out|.{0,200}(?:Connection refused|No route to host))"
    r"|[Cc]ollective operation timeout|client socket has (?:timed out|failed to connect)|failed to connect/validate"
    r"|wait timeout after \d+ ?ms|Socket Timeout"
)
"""What torch, Gloo and NCCL say of a peer that does not answer; it may be gone, or only late."""
_GUESSED = "process-killed"
"""The patch that knows of a process no more than that it was killed."""
_VARYING = re.compile(r"0x[0-9a-f]+|\d+")

Part = Literal["cause", "same", "other", "follows", "ended", "waits", "lives", "goes_on"]
"""What a host's log has to do with the cause: it tells it, the same, another failure that explains no more, only that somebody
else failed, or that it was ended itself; or its ranks wait where all meet, or it tells of nothing that went wrong, and may be known to
live."""


class _Weight(IntEnum):
    """How much a log's root cause explains, the most first."""

    WHY = 0
    DIED = 1
    STOPPED = 2
    """It served, and was told to stop: a cause only where others fell with it."""
    UNBORN = 3
    """One that it had started failed, and said nothing itself: killed, or crashed."""
    LEFT = 4
    UNANSWERED = 5
    LOST = 6
    WRAPPED = 7
    NOTHING = 8


@dataclass(frozen=True)
class Account:
    """One host's part of a launch: the diagnosis of its log; `at`, by one clock for all of them (seconds), when the root
    cause was written, None where nobody knows; `gone`: its processes are known to have ended, `lives`: to be there."""

    diagnosis: Diagnosis
    at: float | None = None
    gone: bool = False
    lives: bool = False


@dataclass(frozen=True)
class JointDiagnosis:
    """What the logs of a launch come to together: which of them tells it, and what each has to do with that. `apart`: their
    ranks do not reach each other, each waits for the others where they meet. `untold`: what failed is another host's, and no log
    tells it; the one that is named only says that another one is gone. `unsaid`: a process of the host that is named ended
    without a word. `stopped`: that host served and was told to stop, and others fell with it."""

    verdict: Verdict
    cause: int
    parts: tuple[Part, ...]
    apart: bool = False
    untold: bool = False
    unsaid: bool = False
    stopped: bool = False


def judge(accounts: Sequence[Account], grammar: LogGrammar) -> JointDiagnosis:
    """What a launch comes to by the accounts of all hosts, of which there is at least one."""
    weights = _weights(accounts, grammar)
    apart = len(accounts) > 1 and all(
        _waits(account) and weight in (_Weight.UNANSWERED, _Weight.NOTHING)
        for account, weight in zip(accounts, weights, strict=True)
    )
    if min(weights) < _Weight.NOTHING:
        cause = _first(accounts, weights, grammar)
        verdict = accounts[cause].diagnosis.verdict
    else:
        cause, verdict = _standing(accounts)
        apart = apart and verdict == "hang"
    parts = tuple(
        "cause" if number == cause else _part(account, weight, accounts[cause], weights[cause])
        for number, (account, weight) in enumerate(zip(accounts, weights, strict=True))
    )
    most = weights[cause] if len(accounts) > 1 else None
    return JointDiagnosis(
        verdict,
        cause,
        parts,
        apart,
        untold=most in (_Weight.UNANSWERED, _Weight.LOST, _Weight.WRAPPED) and not apart,
        unsaid=most == _Weight.UNBORN,
        stopped=most == _Weight.STOPPED,
    )


def _weights(accounts: Sequence[Account], grammar: LogGrammar) -> list[_Weight]:
    weights = [_weight(account, grammar) for account in accounts]
    fell = any(_Weight.STOPPED < weight < _Weight.NOTHING for weight in weights)
    return [_Weight.NOTHING if weight == _Weight.STOPPED and not fell else weight for weight in weights]


def _weight(account: Account, grammar: LogGrammar) -> _Weight:
    diagnosis, root = account.diagnosis, account.diagnosis.root_cause
    if diagnosis.verdict not in ("fault", "unknown_fault"):
        if account.gone:
            return _Weight.DIED
        stopped = any(grammar.start.stopping.search(line.text) for line in diagnosis.evidence)
        return _Weight.STOPPED if stopped else _Weight.NOTHING
    guessed = diagnosis.finding is not None and diagnosis.finding.patch == _GUESSED
    if root is None or guessed or died_only(root.text, grammar.failures):
        return _Weight.DIED
    if root.exception is None and grammar.start.leaving.search(root.text):
        return _Weight.LEFT
    if _UNANSWERED.search(root.text) or grammar.failures.unanswered.search(root.text):
        return _Weight.UNANSWERED
    if root.role == "cascade" and grammar.failures.unborn.search(root.text):
        return _Weight.UNBORN
    if root.role == "cascade" or root.missing:
        return _Weight.WRAPPED
    return _Weight.LOST if root.role == "teardown" else _Weight.WHY


def _first(accounts: Sequence[Account], weights: Sequence[_Weight], grammar: LogGrammar) -> int:
    """Which of those that explain most was written first.

    In the same moment a rank's word goes before that of the process that drives it, and a cause that is known before one that is not.
    """
    best = [number for number, weight in enumerate(weights) if weight == min(weights)]
    times = [at for number in best if (at := accounts[number].at) is not None]
    early = min(times, default=0.0) + SAME_MOMENT_SECONDS

    def rank(number: int) -> tuple[bool, bool, bool, float]:
        at, diagnosis = accounts[number].at, accounts[number].diagnosis
        process = (diagnosis.root_cause.process if diagnosis.root_cause else None) or ""
        return (
            at is not None and at > early,
            not process.startswith(grammar.processes.ranks),
            diagnosis.finding is None,
            at if at is not None else early,
        )

    return min(best, key=rank)


def _standing(accounts: Sequence[Account]) -> tuple[int, Verdict]:
    """Of a launch of which no log tells a failure. It stands still only where all of its hosts do: one that waits for the
    others is as silent as one that hangs, and hosts that answer no requests say nothing once they serve."""
    verdicts = [account.diagnosis.verdict for account in accounts]
    verdict: Verdict = next((each for each in ("healthy", "starting") if each in verdicts), "hang")
    alike = [number for number, each in enumerate(verdicts) if each == verdict]
    # whoever waits where all meet is kept by somebody who has not come
    return min(alike, key=lambda number: (_waits(accounts[number]), _unknown(accounts[number]))), verdict


def _unknown(account: Account) -> bool:
    return account.diagnosis.finding is None


def _waits(account: Account) -> bool:
    meeting = account.diagnosis.meeting
    return meeting is not None and not meeting.met


def _part(account: Account, weight: _Weight, cause: Account, most: _Weight) -> Part:
    if weight == _Weight.NOTHING:
        return "waits" if _waits(account) else "lives" if account.lives else "goes_on"
    if weight == most and _same(account.diagnosis, cause.diagnosis):
        return "same"
    if weight == _Weight.WHY:
        return "other"
    return "ended" if weight in (_Weight.DIED, _Weight.STOPPED, _Weight.LEFT) else "follows"


def _same(own: Diagnosis, other: Diagnosis) -> bool:
    if own.finding is not None and other.finding is not None:
        return own.finding.patch == other.finding.patch
    return _words(own) == _words(other)


def _words(diagnosis: Diagnosis) -> str:
    root = diagnosis.root_cause
    return _VARYING.sub("#", root.text.split("\n", 1)[0]) if root else ""
