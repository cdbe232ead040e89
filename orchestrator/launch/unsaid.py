"""Which process of a launch ended without a word, as far as its log shows? Pure."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.diagnosis.verdict import Diagnosis
from orchestrator.engines.log_grammar import LogGrammar


def ended_without_a_word(diagnosis: Diagnosis, ours: Mapping[int, str], grammar: LogGrammar) -> str | None:
    """Who, in words; None where a log that is whole says why something failed, or that nothing did. `ours` names the processes of
    the launch by pid.

    A process that says of one it had started that it failed points at that one's own words. Where these are missing it had no time
    for any: seen with vLLM 0.32, whose ranks are told of so while they load, and of which one that serves is told with its exit code.
    """
    root = diagnosis.root_cause
    if root is None or diagnosis.finding is not None or root.role != "cascade":
        return None
    if not grammar.failures.unborn.search(root.text):
        return None
    ranks = [f"{name} (pid {pid})" for pid, name in ours.items() if name.startswith(grammar.processes.ranks)]
    return ranks[0] if len(ranks) == 1 else "a process of the engine"
