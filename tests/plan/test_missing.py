"""Which consents a launch lacks, and what asks for each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from orchestrator.patches.patch import Patch
from orchestrator.plan.plan import Plan, make_plan
from orchestrator.plan.wishes import Wishes
from orchestrator.survey.survey import Survey
from tests.jobs import KIMI, PATCHES
from tests.surveys import WHOLE, survey

BARE = KIMI.model_copy(update={"consents": ()})


def plan(surveyed: Survey, **wishes: Any) -> Plan:
    return make_plan("gpu7", BARE, surveyed, Wishes(patches=PATCHES, **wishes))


def test_what_the_playbook_asks_for_is_given_one_by_one_or_all_at_once() -> None:
    assert list(plan(survey()).lacking) == ["trust-remote-code", "listen-openly"]
    assert list(plan(survey(), consents=("trust-remote-code",)).lacking) == ["listen-openly"]
    assert plan(survey(), yes=True).lacking == {}
    assert make_plan("gpu7", KIMI, survey(), Wishes(patches=PATCHES)).lacking == {}


def test_a_folder_of_another_user_needs_a_consent_before_it_is_edited() -> None:
    foreign = survey(checkpoint=replace(WHOLE, owned_by_us=False))
    # --yes gives what the playbook asks for, none that only a remedy needs
    assert plan(foreign, yes=True).lacking == {"foreign-folder": f"{WHOLE.folder} belongs to uid 1000"}
    assert plan(foreign, yes=True, consents=("foreign-folder",)).lacking == {}
    assert plan(foreign, yes=True, predict=False).lacking == {}


def test_the_consents_of_a_forced_patch_are_asked_for_in_its_name() -> None:
    action = {"kind": "flag", "name": "--max-num-seqs", "op": "set", "value": "8", "consent": "install"}
    mine = {"id": "mine", "title": "t", "category": "other", "match": [{"text": "a"}], "remedy": [action]}
    wishes = Wishes(patches=(Patch.model_validate(mine),), forced=("mine",))
    assert make_plan("gpu7", KIMI, survey(), wishes).lacking == {"install": "mine"}
    assert make_plan("gpu7", KIMI, survey(), replace(wishes, yes=True)).lacking == {"install": "mine"}
    assert make_plan("gpu7", KIMI, survey(), replace(wishes, consents=("install",))).lacking == {}
