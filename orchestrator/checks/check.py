"""What is one check of a host, and what did it come to?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from orchestrator.facts.source import Unknown

Grade = Literal["pass", "warn", "fail", "unknown"]


@dataclass(frozen=True)
class Check:
    """A judgement in a few words: `fail` would keep an engine from starting, `warn` may spoil or slow it."""

    subject: str
    verdict: Grade
    sentence: str
    mend: str | None = None
    """The command on the host that takes it away; None where there is none, or nothing to be done."""


def not_known(subject: str, fact: object, mend: str | None = None) -> list[Check]:
    """That a fact could not be had, and why; nothing where it was not asked for, or is known."""
    if not isinstance(fact, Unknown) or fact.code == "not_asked":
        return []
    return [Check(subject, "unknown", fact.reason, mend)]
