"""Labelled launch logs are judged as their labels say, and told as a person can read it."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.diagnosis.engine import diagnose_log
from orchestrator.diagnosis.verdict import Diagnosis, RootCause
from orchestrator.patches import catalogue
from orchestrator.patches.patch import Patch
from tests.diagnosis.asking import unheeded
from tests.diagnosis.labels import (
    CASES,
    FILES,
    FOLDER,
    UNRECOGNISED,
    WRAPPERS,
    Case,
    expected,
    grammar_of,
    known_of,
    log,
    wrong,
)
from tests.of_each import of_each
from tests.report.oddities import oddities

PATCHES = catalogue.load([shipped("patches")])
NEVER = {patch.id: patch.never for patch in PATCHES}
IN_FOLDER = defaultdict(list)
for each in CASES:
    IN_FOLDER[each.folder].append(each)
KEYS = {
    "from", "source", "why", "engine", "context", "verdict", "patch", "category", "category_also", "cause", "cause_not", "remedy",
}  # fmt: skip
UNJUDGED = {"category_also", "cause", "cause_not"}
"""Of a launch that did not fail."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    label = expected(case)
    found = diagnose_log([log(case)], grammar=grammar_of(case), known=known_of(label), patches=PATCHES)
    assert wrong(label, found) == []
    assert unheeded(found, NEVER.get(label["patch"], ())) == set()
    assert oddities(found) == []


@of_each(PATCHES, lambda patch: patch.id)
def test_a_patch_has_a_case_of_its_own_and_a_look_alike(patch: Patch) -> None:
    patches = [expected(case)["patch"] for case in IN_FOLDER[FOLDER / patch.category / patch.id]]
    assert patch.id in patches
    assert any(other != patch.id for other in patches)


def test_every_log_has_a_label_and_every_label_a_log() -> None:
    assert {path for path in FOLDER.rglob("*") if path.is_file()} == {*FILES, *(case.path for case in CASES)}
    known = {patch.id for patch in PATCHES}
    assert {case.folder.name for case in CASES if case.folder.parent.name != UNRECOGNISED} == known


def test_a_label_says_where_its_log_is_from_and_nothing_that_is_not_judged() -> None:
    for case in CASES:
        label = expected(case)
        assert set(label) <= KEYS, case.id
        assert label["from"] in ("real", "reconstructed"), case.id
        assert set(label["remedy"]) <= {"any_of", "automatic", "forbidden"}, case.id
        if label["patch"] is None:
            unjudged = {"category_also"} if label["verdict"] == "unknown_fault" else UNJUDGED
            assert not unjudged & set(label), case.id


@pytest.mark.parametrize("words", WRAPPERS)
def test_a_wrapper_is_no_cause_unless_the_label_asks_for_it(words: str) -> None:
    cause = RootCause(text=f"RuntimeError: {words} (exit code: 1)", line=1, process=None, exception=None)
    diagnosis = Diagnosis(verdict="unknown_fault", root_cause=cause)
    label = {"verdict": "unknown_fault", "patch": None, "remedy": {}}
    assert wrong(label, diagnosis) == [f"the cause has {words!r}"]
    assert wrong({**label, "cause": [f"{words} (exit"]}, diagnosis) == []


def test_there_are_cases_of_every_kind() -> None:
    verdicts = Counter(expected(case)["verdict"] for case in CASES)
    assert {name for name, count in verdicts.items() if count >= 5} == {
        "fault", "unknown_fault", "hang", "starting", "healthy",
    }  # fmt: skip
    categories = {expected(case)["category"] for case in CASES if expected(case)["verdict"] == "fault"}
    assert categories == {patch.category for patch in PATCHES}
