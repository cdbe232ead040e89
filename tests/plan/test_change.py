"""What a change is said to do, to take back, and to ask for."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.checkpoint.edits import Edit, Edits
from orchestrator.patches import catalogue
from orchestrator.patches.known import Known
from orchestrator.patches.patch import Patch
from orchestrator.patches.proposal import ProposedAction, ProposedWay
from orchestrator.plan.change import Change, work_out, worked_out

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


def drop(name: str) -> dict[str, Any]:
    return {"kind": "flag", "name": name, "op": "remove"}


EDIT = {"kind": "config", "file": "config.json", "path": "/odd", "op": "remove"}
CONFIGS = {"config.json": b'{"odd": 1}'}


def test_everything_that_a_way_does_is_in_the_change() -> None:
    actions = [
        {"kind": "flag", "name": "--seed", "op": "set", "value": 1},
        drop("--swap-space"),
        {"kind": "env", "name": "NCCL_DEBUG", "op": "set", "value": "INFO"},
        {"kind": "cleanup", "name": "shm"},
        {"kind": "redownload", "name": "*"},
        {"kind": "install", "name": "ninja"},
        EDIT,
    ]
    way = ProposedWay(
        actions=tuple(ProposedAction(**action) for action in actions), cost="time", consents=("x",), number=3
    )
    made = worked_out(way, PATCH, why="finding", evidence="line 7", configs=CONFIGS)
    assert (made.patch, made.why, made.evidence, made.cost) == (PATCH, "finding", "line 7", "time")
    assert (made.flags, made.environment) == ({"--seed": "1", "--swap-space": None}, {"NCCL_DEBUG": "INFO"})
    assert (made.cleanups, made.redownloads, made.consents, made.number) == (("shm",), ("*",), ("x",), 3)
    assert made.edits is not None and made.edits.after == {"config.json": b"{}"}
    assert made.way == made.action
    later = worked_out(way, PATCH, why="finding", evidence="", configs={})
    assert (later.edits, later.pending) == (None, (Edit("config.json", "/odd", "remove", None),))


def taken(way: str | None, **ways: dict[str, Any]) -> Change:
    """A patch in force of these ways, worked out again as the journal names the one that was taken."""
    remedy = [{"do": [action]} for action in ways.values()]
    match = [{"exception": "MyError"}]
    patch = Patch.model_validate(
        {"id": "mine", "title": "t", "category": "other", "match": match, "remedy": remedy}
    )
    known = Known(documents={"config.json": {"odd": 1}})
    return work_out(patch, why="again", evidence="since then", known=known, configs=CONFIGS, taken=way)


@pytest.mark.parametrize(
    ("way", "action"),
    [
        (None, "drop --seed"),
        ("drop --swap-space", "drop --swap-space"),
        ("what an older patch did", "edit config.json"),
    ],
)
def test_the_way_that_was_taken_is_known_again_else_the_one_that_edits_a_file(
    way: str | None, action: str
) -> None:
    made = taken(way, first=drop("--seed"), second=drop("--swap-space"), third=EDIT)
    assert (made.action, made.evidence) == (action, "since then")


def test_where_no_way_edits_the_mildest_is_taken_and_where_there_is_none_nothing_is_changed() -> None:
    assert taken("gone", first=drop("--seed"), second=drop("--swap-space")).action == "drop --seed"
    assert not taken("gone", first={**drop("--seed"), "when": {"gpus": "==8"}}).changes_something
