"""How a proposed way is told to programs, and whether it may be taken unasked."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.patches.proposal import ProposedAction, ProposedWay

DROP: dict[str, Any] = {"kind": "flag", "name": "--swap-space", "op": "remove"}


@pytest.mark.parametrize(
    "action",
    [
        DROP,
        {"kind": "cleanup", "name": "shm"},
        {"kind": "config", "file": "config.json", "path": "/odd", "op": "set", "value": None},
        {"kind": "env", "name": "NCCL_DEBUG", "op": "set", "value": "INFO"},
    ],
)
def test_an_action_is_told_with_its_own_keys_alone(action: dict[str, Any]) -> None:
    assert ProposedAction(**action).model_dump(mode="json") == action


def test_which_of_the_ways_it_is_is_not_told() -> None:
    way = ProposedWay(actions=(ProposedAction(**DROP),), cost="minutes", number=2)
    told = way.model_dump(mode="json")
    assert told == {"actions": [DROP], "cost": "minutes", "consents": [], "conflicts": {}}


@pytest.mark.parametrize(
    ("kind", "consents", "automatic"),
    [("flag", (), True), ("redownload", (), True), ("install", (), False), ("flag", ("install",), False)],
)
def test_what_is_installed_or_needs_a_consent_is_not_done_unasked(
    kind: Any, consents: tuple[str, ...], automatic: bool
) -> None:
    actions = (ProposedAction(**DROP), ProposedAction(kind=kind, name="x"))
    assert ProposedWay(actions=actions, consents=consents).automatic is automatic


@pytest.mark.parametrize(
    ("kind", "confidence", "unasked"),
    [
        ("env", "certain", True),
        ("env", "likely", False),
        ("config", "likely", False),
        ("cleanup", "likely", True),
        ("redownload", "likely", True),
        ("install", "certain", False),
    ],
)
def test_on_a_guess_only_what_looks_first_is_done_unasked(kind: Any, confidence: Any, unasked: bool) -> None:
    assert ProposedWay(actions=(ProposedAction(kind=kind, name="x"),)).unasked(confidence) is unasked
