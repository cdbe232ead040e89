"""Labelled launch logs: adding a folder with log.txt and expected.json adds a case.

expected.json names the patch that must recognise the log; without that key no patch of the flagship
family may. A fault that no patch knows yet must come out as unknown_fault, with the right root cause.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.data_folders import shipped
from orchestrator.diagnosis.engine import Context, diagnose
from orchestrator.diagnosis.verdict import Diagnosis, ProposedAction
from orchestrator.remedy import catalogue

FOLDERS = (Path(__file__).parent / "cases", *shipped("patches").glob("cases/*"))
CASES = sorted(path.parent for folder in FOLDERS for path in folder.glob("*/expected.json"))
PATCHES = catalogue.load([shipped("patches")])
FLAGSHIP = "fp8-kv-mla"


def squashed(text: str) -> str:
    return " ".join(text.split())


def does(wanted: dict[str, Any], action: ProposedAction) -> bool:
    name = (action.path or "").rpartition("/")[2] if action.kind == "config" else action.name
    nulled = action.kind == "config" and action.op == "set" and action.value is None
    ops = {action.op, "remove"} if nulled else {action.op}
    return (
        wanted["kind"] == action.kind
        and wanted.get("name", name) == name
        and wanted.get("op", action.op) in ops
        and wanted.get("value", action.value) == action.value
    )


def judged(case: Path) -> tuple[dict[str, Any], Diagnosis]:
    expected = json.loads((case / "expected.json").read_text(encoding="utf-8"))
    lines = (case / "log.txt").read_bytes().split(b"\n")
    context = Context(**expected["context"])
    return expected, diagnose(lines, context=context, patches=PATCHES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Path) -> None:
    expected, found = judged(case)
    patch = found.finding.patch if found.finding else None
    actions = found.remedy.actions if found.remedy else ()

    if "patch" in expected:
        assert patch == expected["patch"]
        assert found.finding is not None and found.finding.category == expected["category"]
    else:
        assert patch != FLAGSHIP

    known = expected["verdict"] != "fault" or "patch" in expected
    assert found.verdict in ({expected["verdict"]} if known else {"fault", "unknown_fault"})

    if expected["verdict"] in ("fault", "unknown_fault"):
        assert found.root_cause is not None
        text = squashed(found.root_cause.text)
        assert [part for part in expected["root_cause_contains"] if squashed(part) not in text] == []
        assert [part for part in expected["root_cause_not"] if squashed(part) in text] == []

    remedy = expected["remedy"]
    assert [bad for bad in remedy["forbidden"] if any(does(bad, action) for action in actions)] == []
    if "patch" in expected and remedy["any_of"]:
        assert any(
            all(any(does(wanted, action) for action in actions) for wanted in way) for way in remedy["any_of"]
        )
        if remedy["automatic"] is not None:
            assert found.remedy is not None and found.remedy.automatic == remedy["automatic"]


def test_there_are_cases_of_both_kinds() -> None:
    labels = [json.loads((case / "expected.json").read_text(encoding="utf-8")) for case in CASES]
    assert sum("patch" in label for label in labels) >= 13
    assert sum(label["verdict"] == "healthy" for label in labels) >= 10
