"""Every playbook that is shipped, on cards that it says are enough, for every release of its range that is known."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from pathlib import Path

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.engines.options import Options
from orchestrator.models.choose import choose
from orchestrator.models.hardware import profile_of
from orchestrator.models.needs import Need, needs
from orchestrator.plan.plan import Plan, make_plan
from orchestrator.plan.resolve import requested
from orchestrator.plan.wishes import Wishes
from orchestrator.playbook import playbook as playbooks
from orchestrator.playbook.names import called, files_in
from orchestrator.playbook.playbook import Playbook
from orchestrator.survey.cards import named
from orchestrator.survey.supposed import of_cards
from tests.jobs import PATCHES

FOLDER = shipped("playbooks")
FIXED = ("kimi-k2.5", "tiny-mla")
"""Those that leave nothing open have tests of their own."""
UNSIZED = ("step-3.7-flash", "step-3.7-flash-fp8", "step-3.7-flash-nvfp4")
"""Of which nobody here knows what a token takes."""
RELEASES: list[str] = json.loads(
    resources.files("orchestrator.engines.vllm").joinpath("options.json").read_text()
)["sampled"]
BY_NAME = pytest.mark.parametrize("name", [name for name in called([FOLDER]) if name not in FIXED])


@cache
def of_file(path: Path) -> dict[str, Playbook]:
    return {playbook.name: playbook for playbook in playbooks.with_variants(path)}


def playbook_of(name: str) -> Playbook:
    files = files_in([FOLDER])
    stem = max((stem for stem in files if name == stem or name.startswith(f"{stem}-")), key=len)
    return of_file(files[stem])[name]


def planned(playbook: Playbook, cards: str, version: str) -> Plan:
    survey = of_cards(playbook, named(cards))
    wishes = Wishes(patches=PATCHES, engine_version=version)
    chosen = choose(cards, playbook, None, survey, wishes, profile_of(survey, (shipped("profiles"),)))
    return make_plan(cards, chosen.playbook, survey, wishes, choices=chosen.choices)


def cards_for(wanted: tuple[Need, ...]) -> str:
    """The fewest that are enough, of a kind that every release knows where there is one."""
    by_kind = {need.card: f"{need.gpus}x{need.card}" for need in wanted}
    return next(
        by_kind[card] for card in ("H200", "H100", "B200", "B300", "L40S", *by_kind) if card in by_kind
    )


def refused(options: Options, version: str) -> list[str]:
    """Options that a release does not take; a variable that it does not read yet changes nothing."""
    return [
        sentence for sentence in options.not_taken(version) if "VLLM_ENGINE_READY_TIMEOUT_S" not in sentence
    ]


def planned_releases(name: str, playbook: Playbook) -> list[str]:
    """The oldest of its range and the newest; of a file's own form also two between, which size differently."""
    accepted = [version for version in RELEASES if playbook.engine.accepts(version)]
    between = ("0.19.1", "0.24.0") if name in files_in([FOLDER]) else ()
    return [version for version in accepted if version in (accepted[0], *between, accepted[-1])]


def test_there_are_as_many_models_as_are_promised() -> None:
    assert len(set(files_in([FOLDER])) - set(FIXED)) >= 40


def test_every_name_is_known_by_its_line() -> None:
    assert set(called([FOLDER])) == {name for path in files_in([FOLDER]).values() for name in of_file(path)}


@BY_NAME
def test_a_playbook_says_what_it_rests_on(name: str) -> None:
    playbook = playbook_of(name)
    assert playbook.choose and playbook.description and playbook.model.precision and playbook.sources
    assert playbook.figures.config["architectures"]
    assert set(requested(playbook, python="python3", folder="/m").consents()) <= set(playbook.consents)
    assert all(item.reason for item in playbook.environment.values())


@BY_NAME
def test_it_is_planned_on_the_cards_that_it_says_are_enough(name: str) -> None:
    playbook = playbook_of(name)
    wanted = needs(playbook)
    assert (wanted is None) == (name in UNSIZED)
    cards = "8xH200" if wanted is None else cards_for(wanted)
    for version in planned_releases(name, playbook):
        plan = planned(playbook, cards, version)
        assert plan.refusals == (), version
        assert plan.lacking == {}, version
        assert plan.fit.verdict != "does_not_fit", version
        assert refused(plan.options, version) == [], version
    # of the newest; what an older one makes of a cache may not be known
    assert plan.fit.verdict == ("unknown" if wanted is None else "fits")


@BY_NAME
def test_every_release_of_its_range_takes_its_options(name: str) -> None:
    playbook = playbook_of(name)
    options = requested(playbook, python="python3", folder="/m")
    accepted = [version for version in RELEASES if playbook.engine.accepts(version)]
    assert accepted
    assert [(version, said) for version in accepted if (said := refused(options, version))] == []


@pytest.mark.parametrize(
    ("name", "cards", "version", "whole"),
    [
        ("qwen3-coder-480b-fp8", "8xH100", "0.19.1", True),  # 2560 over 8 is no multiple of 128
        ("qwen3-coder-480b-fp8", "8xH200", "0.19.1", False),  # over 4 it is
        ("qwen3-coder-480b-nvfp4", "8xL40S", "0.19.1", False),
        ("minimax-m2.7", "8xL40S", "0.20.0", True),
        ("deepseek-v3.1", "8xH200", "0.19.1", False),
    ],
)
def test_experts_are_dealt_out_whole_where_their_parts_would_fill_no_blocks(
    name: str, cards: str, version: str, whole: bool
) -> None:
    plan = planned(playbook_of(name), cards, version)
    assert "foreseen" not in [refusal.code for refusal in plan.refusals]
    assert plan.playbook.arguments.get("enable-expert-parallel", False) is whole
    assert ("arguments.enable-expert-parallel" in {choice.name for choice in plan.choices}) is whole


def test_who_wants_no_experts_dealt_out_is_told_what_is_foreseen() -> None:
    asked = playbook_of("minimax-m2.7").with_overrides(["arguments.enable-expert-parallel=null"])
    plan = planned(asked, "8xL40S", "0.20.0")
    assert [refusal.known["patch"] for refusal in plan.refusals] == ["moe-block-size"]
