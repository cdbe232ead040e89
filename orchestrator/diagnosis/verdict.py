"""What does a diagnosis consist of?

`Diagnosis.model_dump(mode="json")` is the object that `deploy diagnose --json` prints; its keys are a contract.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pydantic import Field

from orchestrator.base.frozen import Frozen
from orchestrator.diagnosis.incident import IncidentRole
from orchestrator.diagnosis.startup import Meeting
from orchestrator.patches.known import Known
from orchestrator.patches.patch import Category
from orchestrator.patches.proposal import ProposedAction, ProposedWay
from orchestrator.patches.wanted import Confidence

Verdict = Literal["fault", "healthy", "starting", "hang", "unknown_fault"]


class RootCause(Frozen):
    """The exception's text as the log has it, and the 1-based line on which it stands; where that is cut off, what its frames
    tell. `role`: what it says by itself; `missing`: it does not say why, and the line that does is not in the log;
    `by_stack`: of a launch that stands still, what keeps it, as stacks of its processes show."""

    text: str
    line: int
    process: str | None
    exception: str | None
    role: IncidentRole = Field(default="initiating", exclude=True)
    missing: bool = Field(default=False, exclude=True)
    by_stack: bool = Field(default=False, exclude=True)


class Finding(Frozen):
    """The patch that recognises the root cause. `tells`, where it is only likely: which line or command would tell."""

    patch: str
    category: Category
    title: str
    explanation: str
    confidence: Confidence
    tells: tuple[str, ...] = ()


class Remedy(Frozen):
    """The mildest way, and what a person could do. `automatic`: there is a way, which needs no consent, and where it
    sets something the finding is certain."""

    automatic: bool = False
    actions: tuple[ProposedAction, ...] = ()
    advice: tuple[str, ...] = ()
    ways: tuple[ProposedWay, ...] = Field(default=(), exclude=True)
    """All ways that may be taken here, mildest first."""
    known: Known = Field(default=Known(), exclude=True)
    """What they were judged by; the checkpoint's files are not among it."""


class EvidenceLine(Frozen):
    """A line of the log."""

    line: int
    text: str


class Folded(Frozen):
    """Who told the same, and how many lines were only repetition or consequence."""

    processes: tuple[str, ...] = ()
    lines: int = 0


class Writer(Frozen):
    """The engine as whose log it was read: its kind, and the version that the log or its reader says, None where nobody does."""

    kind: str
    version: str | None = None


class Diagnosis(Frozen):
    """A diagnosis; `model_dump(mode="json")` is what `deploy diagnose --json` prints."""

    verdict: Verdict
    root_cause: RootCause | None = None
    finding: Finding | None = None
    remedy: Remedy | None = None
    evidence: tuple[EvidenceLine, ...] = ()
    folded: Folded = Folded()
    engine: Writer | None = None
    meeting: Meeting | None = Field(default=None, exclude=True)
    """Where its ranks meet those of other hosts, as far as they have come."""

    @property
    def answer(self) -> tuple[object, ...]:
        """What makes it another answer than the last one: the verdict, the finding and, of a failure, its cause."""
        cause = self.root_cause if self.verdict in ("fault", "unknown_fault") else None
        return self.verdict, self.finding, cause

    def renumbered(self, line_of: Callable[[int], int]) -> Diagnosis:
        """The same of a log whose lines have other numbers."""
        cause = self.root_cause
        return self.model_copy(
            update={
                "root_cause": cause and cause.model_copy(update={"line": line_of(cause.line)}),
                "evidence": tuple(
                    each.model_copy(update={"line": line_of(each.line)}) for each in self.evidence
                ),
            }
        )
