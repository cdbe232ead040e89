"""Labelled launch logs are judged as their labels say: those of every patch, and those of the whole."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.diagnosis.engine import diagnose_log
from orchestrator.patches import catalogue
from orchestrator.patches.patch import Patch
from tests.diagnosis.labels import CASES, context, expected, log, wrong

PATCHES = catalogue.load([shipped("patches")])
OF_PATCHES = {
    f"{path.parent.parent.name}-{path.parent.name}": path.parent
    for patch in PATCHES
    for path in sorted((shipped("patches") / (patch.cases or "")).glob("*/expected.json"))
}


@pytest.mark.parametrize(
    "case",
    [*CASES, *(pytest.param(case, id=name) for name, case in OF_PATCHES.items())],
    ids=lambda case: case.name,
)
def test_case(case: Path) -> None:
    label = expected(case)
    found = diagnose_log([log(case)], context=context(label), patches=PATCHES)
    assert wrong(label, found) == []


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.id)
def test_a_patch_has_a_case_of_its_own_and_a_look_alike(patch: Patch) -> None:
    labels = [
        expected(case)
        for case in OF_PATCHES.values()
        if case.parent == shipped("patches") / "cases" / patch.id
    ]
    assert any(label.get("patch") == patch.id for label in labels)
    assert any(label.get("patch") != patch.id for label in labels)


def test_there_are_cases_of_every_kind() -> None:
    verdicts = Counter(expected(case)["verdict"] for case in CASES)
    assert {name for name, count in verdicts.items() if count >= 5} == {
        "fault", "unknown_fault", "hang", "starting", "healthy",
    }  # fmt: skip
    categories = {expected(case)["category"] for case in CASES if expected(case)["verdict"] == "fault"}
    assert categories == {patch.category for patch in PATCHES}
