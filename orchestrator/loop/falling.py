"""Of the launches of a group of which one has failed, whose failure is the group's, and what do the others say of it?

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.diagnosis.across import Account, judge
from orchestrator.engines.log_grammar import LogGrammar
from orchestrator.launch.failure import Failure
from orchestrator.report.hosts_text import hosts_text


def whose(
    hosts: Sequence[str], failures: Sequence[Failure], grammar: LogGrammar
) -> tuple[int, tuple[str, ...], bool]:
    """Which of these failures counts, what each host has to do with it, in sentences, and whether it is that they do not reach each other.

    One that fails without a word in any log, such as one that did not answer in time, counts by when that was seen.
    """
    if len(failures) == 1:
        return 0, (), False
    accounts = [
        Account(
            each.diagnosis,
            each.came,
            gone=each.seen.state == "exited",
            lives=each.overheard and each.seen.state == "late",
        )
        for each in failures
    ]
    joint = judge(accounts, grammar)
    sentences = hosts_text(hosts, [failure.diagnosis for failure in failures], joint)
    if joint.apart or not failures[joint.cause].overheard:
        return joint.cause, tuple(sentences), joint.apart
    own = [number for number, failure in enumerate(failures) if not failure.overheard]
    return min(own, key=lambda number: failures[number].seen.at), (), False


def as_apart(failure: Failure) -> Failure:
    """The failure of a launch whose ranks have not met: what a patch knows of ranks that hang once they have says nothing of it."""
    if failure.diagnosis.verdict != "hang":
        return failure
    bare = failure.diagnosis.model_copy(update={"finding": None, "remedy": None})
    return replace(failure, diagnosis=bare)
