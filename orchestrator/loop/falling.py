"""Of the launches of a group of which one has failed, whose failure is the group's, and what do the others say of it?

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.diagnosis.across import Account, judge
from orchestrator.engines.log_grammar import LogGrammar
from orchestrator.launch.failure import Failure
from orchestrator.report.hosts_text import hosts_text


def whose(
    hosts: Sequence[str], failures: Sequence[Failure], grammar: LogGrammar
) -> tuple[int, tuple[str, ...]]:
    """Which of these failures counts, and what each host has to do with it, in sentences.

    One that fails without a word in any log, such as one that did not answer in time, counts by when that was seen.
    """
    if len(failures) == 1:
        return 0, ()
    accounts = [Account(each.diagnosis, each.came, gone=each.seen.state == "exited") for each in failures]
    joint = judge(accounts, grammar)
    sentences = hosts_text(hosts, [failure.diagnosis for failure in failures], joint)
    if joint.apart or not failures[joint.cause].overheard:
        return joint.cause, tuple(sentences)
    own = [number for number, failure in enumerate(failures) if not failure.overheard]
    return min(own, key=lambda number: failures[number].seen.at), ()
