"""Profiles of cards: what a file may say, and what holds for how many of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.base.errors import UsageError
from orchestrator.playbook.profile import load
from orchestrator.survey import cards

PROFILES = sorted(shipped("profiles").glob("*.yaml"))


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_shipped_profiles_are_whole(path: Path) -> None:
    profile = load(path)
    card = cards.of_model(profile.card)
    assert card is not None and card.name == profile.card
    assert path.stem == profile.card.lower().replace(" ", "-")
    settings = [setting for asked in profile.settings for setting in asked.environment.values()]
    assert all(setting.reason for setting in settings)
    assert not any(name.startswith("NCCL_") for asked in profile.asked(1) for name in asked.environment)


def test_every_card_that_has_a_name_has_a_profile() -> None:
    assert {path.stem for path in PROFILES} == {card.name.lower().replace(" ", "-") for card in cards.known()}


def test_what_holds_for_how_many(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(
        """\
description: X
card: H200
settings:
  - arguments: {gpu-memory-utilization: {value: 0.8, reason: always}}
  - over: [2, 4]
    environment: {NCCL_P2P_LEVEL: {value: SYS, reason: far}}
sources: [{fact: a, source: b, date: 2026-11-30}]
"""
    )
    profile = load(path)
    assert [len(profile.asked(count)) for count in (1, 2, 4, 8)] == [1, 2, 2, 1]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("cart: H200", "cart: is not a known key"),
        ("settings: [{over: [0]}]", "settings.0.over.0"),
        ("settings: [{arguments: {x: {value: 1}}}]", "reason: is missing"),
        ("settings: [{environment: {DEPLOY_X: 1}}]", "kept for this program"),
    ],
)
def test_a_wrong_profile_is_told_by_key(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(f"description: X\ncard: H200\nsources: []\n{line}\n")
    with pytest.raises(UsageError) as caught:
        load(path)
    assert caught.value.code == "invalid_profile"
    assert says in caught.value.message
