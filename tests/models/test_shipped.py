"""Every playbook that is shipped, on cards that it says are enough, for every release of its range that is known."""

from __future__ import annotations

import json
from importlib import resources

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.models.choose import choose
from orchestrator.models.hardware import profile_of
from orchestrator.models.needs import needs
from orchestrator.plan.plan import Plan, make_plan
from orchestrator.plan.resolve import requested
from orchestrator.plan.wishes import Wishes
from orchestrator.playbook import playbook as playbooks
from orchestrator.playbook.names import called
from orchestrator.playbook.playbook import Playbook
from orchestrator.survey.cards import named
from orchestrator.survey.supposed import of_cards
from tests.jobs import PATCHES

FOLDER = shipped("playbooks")
ALL = {each.name: each for path in sorted(FOLDER.glob("*.yaml")) for each in playbooks.with_variants(path)}
OPEN = [playbook for playbook in ALL.values() if playbook.choose]
RELEASES: list[str] = json.loads(
    resources.files("orchestrator.engines.vllm").joinpath("flags.json").read_text()
)["sampled"]
BY_MODEL = pytest.mark.parametrize("playbook", OPEN, ids=lambda playbook: playbook.name)


def planned(playbook: Playbook, cards: str, version: str) -> Plan:
    survey = of_cards(playbook, named(cards))
    wishes = Wishes(patches=PATCHES, engine_version=version)
    chosen = choose(cards, playbook, None, survey, wishes, profile_of(survey, (shipped("profiles"),)))
    return make_plan(cards, chosen.playbook, survey, wishes, choices=chosen.choices)


def cards_for(playbook: Playbook) -> str:
    """The fewest that it says are enough, of a kind that every release knows where there is one."""
    by_kind = {need.card: f"{need.gpus}x{need.card}" for need in needs(playbook)}
    return next(
        by_kind[card] for card in ("H200", "H100", "B200", "B300", "L40S", *by_kind) if card in by_kind
    )


def planned_releases(playbook: Playbook) -> list[str]:
    """The oldest of its range, the newest, and two between that size differently."""
    accepted = [version for version in RELEASES if playbook.engine.accepts(version)]
    return [version for version in accepted if version in (accepted[0], "0.19.1", "0.24.0", accepted[-1])]


def test_every_name_is_known_by_its_line() -> None:
    assert set(called([FOLDER])) == set(ALL)


@BY_MODEL
def test_a_playbook_says_what_it_rests_on(playbook: Playbook) -> None:
    assert playbook.description
    assert playbook.model.precision
    assert playbook.sources
    assert playbook.figures.config["architectures"]
    assert set(requested(playbook, python="python3", folder="/m").consents()) <= set(playbook.consents)
    assert all(item.reason for item in playbook.environment.values())


@BY_MODEL
def test_it_is_planned_on_the_cards_that_it_says_are_enough(playbook: Playbook) -> None:
    cards = cards_for(playbook)
    for version in planned_releases(playbook):
        plan = planned(playbook, cards, version)
        assert plan.refusals == (), version
        assert plan.lacking == {}, version
        assert plan.fit.verdict != "does_not_fit", version
        assert plan.options.not_taken(version) == (), version
    assert plan.fit.verdict == "fits"  # of the newest; what an older one makes of a cache may not be known


@BY_MODEL
def test_every_release_of_its_range_takes_its_options(playbook: Playbook) -> None:
    options = requested(playbook, python="python3", folder="/m")
    accepted = [version for version in RELEASES if playbook.engine.accepts(version)]
    assert accepted
    for version in accepted:
        assert options.not_taken(version) == (), version
