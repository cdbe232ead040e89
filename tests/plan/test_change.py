"""What a change is said to do, to take back, and to ask for."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.checkpoint.edits import Edits
from orchestrator.patches import catalogue
from orchestrator.plan.change import Change

PATCH = catalogue.load([shipped("patches")])[0]
NO_EDITS = Edits((), {}, {})


def change(**does: Any) -> Change:
    return Change(PATCH, "finding", "", **does)


@pytest.mark.parametrize(
    ("does", "action", "undoing"),
    [
        ({}, "nothing to change", "changes nothing"),
        ({"edits": NO_EDITS}, "nothing to change", "changes nothing"),
        ({"flags": {"--a": "1"}}, "set --a to 1", "reversible"),
        ({"flags": {"--a": None}, "environment": {"B": "2"}}, "drop --a; set B to 2", "reversible"),
        ({"cleanups": ("compile_cache",)}, "clean compile cache", "cannot be undone"),
        ({"redownloads": ("x.json",)}, "fetch x.json again", "cannot be undone"),
        (
            {"flags": {"--a": "1"}, "cleanups": ("shm",), "redownloads": ("*",)},
            "set --a to 1; clean shm; fetch damaged files again",
            "settings reversible, what is removed is not",
        ),
    ],
)
def test_what_it_does_and_what_can_be_put_back(does: dict[str, Any], action: str, undoing: str) -> None:
    made = change(**does)
    assert (made.action, made.undoing) == (action, undoing)
    assert made.changes_something == (undoing != "changes nothing")
    assert made.sets_something == ("reversible" in undoing)


def test_a_change_without_edits_has_no_diff() -> None:
    assert (change().diff, change().file_diffs) == ("", {})
