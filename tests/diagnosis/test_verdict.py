"""What of a diagnosis is printed, and what makes it another answer than the last one."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.diagnosis.verdict import Diagnosis, EvidenceLine, Finding, Folded, Remedy, RootCause, Writer
from orchestrator.patches.known import Known
from orchestrator.patches.proposal import ProposedAction, ProposedWay

ROOT = RootCause(text="ValueError: x", line=3, process="Worker_TP4", exception="ValueError", role="cascade")
FINDING = Finding(patch="mine", category="other", title="t", explanation="e", confidence="certain")
ACTION = ProposedAction(kind="cleanup", name="shm")
REMEDY = Remedy(
    automatic=True,
    actions=(ACTION,),
    advice=("a",),
    ways=(ProposedWay(actions=(ACTION,)),),
    known=Known(gpus=8),
)
FAULT = Diagnosis(verdict="fault", root_cause=ROOT, finding=FINDING, remedy=REMEDY)


def test_the_object_that_is_printed() -> None:
    whole = FAULT.model_copy(
        update={
            "evidence": (EvidenceLine(line=3, text="x"),),
            "folded": Folded(processes=("Worker_TP0",), lines=4),
            "engine": Writer(kind="vllm", version="0.16.0"),
        }
    )
    assert whole.model_dump(mode="json") == {
        "verdict": "fault",
        "root_cause": {
            "text": "ValueError: x",
            "line": 3,
            "process": "Worker_TP4",
            "exception": "ValueError",
        },
        "finding": {
            "patch": "mine",
            "category": "other",
            "title": "t",
            "explanation": "e",
            "confidence": "certain",
            "tells": [],
        },
        "remedy": {"automatic": True, "actions": [{"kind": "cleanup", "name": "shm"}], "advice": ["a"]},
        "evidence": [{"line": 3, "text": "x"}],
        "folded": {"processes": ["Worker_TP0"], "lines": 4},
        "engine": {"kind": "vllm", "version": "0.16.0"},
    }
    nothing = Diagnosis(verdict="starting").model_dump(mode="json")
    assert nothing == {
        "verdict": "starting", "root_cause": None, "finding": None, "remedy": None, "evidence": [],
        "folded": {"processes": [], "lines": 0}, "engine": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "change", "another"),
    [
        ("fault", {"root_cause": ROOT.model_copy(update={"line": 4})}, True),
        ("unknown_fault", {"root_cause": None}, True),
        ("fault", {"finding": None}, True),
        ("fault", {"remedy": None, "folded": Folded(lines=9)}, False),
        ("fault", {"verdict": "hang"}, True),
        ("starting", {"root_cause": None}, False),  # the last line of a log that grows
        ("hang", {"root_cause": None}, False),
    ],
)
def test_another_answer_is_another_verdict_finding_or_cause_of_a_failure(
    verdict: Any, change: dict[str, Any], another: bool
) -> None:
    before = FAULT.model_copy(update={"verdict": verdict})
    assert (before.model_copy(update=change).answer != before.answer) is another
