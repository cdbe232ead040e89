"""What is known of a host that nobody asks, and what is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.facts.disk import Disk
from orchestrator.facts.gather import Facts
from orchestrator.facts.saved import Saved
from orchestrator.playbook import playbook as playbooks
from orchestrator.survey import supposed
from orchestrator.survey.cards import named
from tests.plan.hosts import SOCKETS, machine_of
from tests.surveys import cards, engine

AT = "2026-11-30T09:00:00+00:00"
PLAYBOOK = playbooks.find("kimi-k2.5", [Path(__file__).parents[2] / "playbooks"])
HOME = "/home/ml"
FOLDER = f"{HOME}/models/kimi-k2.5-nvfp4"


def of_facts(**facts: Any) -> Any:
    return supposed.of_facts(PLAYBOOK, Saved("gpu7", AT, Facts(facts)))


def test_of_named_cards_only_the_cards_are_known() -> None:
    survey = supposed.of_cards(PLAYBOOK, named("8xRTX PRO 6000"))
    assert survey.supposed
    assert (len(survey.facts.cards), survey.facts.compute_cap) == (8, "12.0")
    assert survey.engine is None
    assert survey.checkpoint.free_bytes is None
    assert survey.unasked == (
        "the installed engine", "how the GPUs are connected", "the driver", "the machine", "free disk",
        "what is in the checkpoint's folder", "who has the port",
    )  # fmt: skip


def test_what_saved_facts_tell_is_known_as_of_then() -> None:
    survey = of_facts(
        gpus=cards(), engine=engine("0.18.0"), topology=SOCKETS, machine=machine_of("dual_turin", home=HOME)
    )
    assert not survey.supposed
    assert not survey.fresh
    assert survey.engine is not None and survey.engine.version == "0.18.0"
    assert survey.checkpoint.folder == FOLDER
    assert survey.unasked == (
        "the driver", "free disk", "what is in the checkpoint's folder", f"what changed since {AT}"
    )  # fmt: skip


@pytest.mark.parametrize(("asked", "free"), [(FOLDER, 7), (HOME, None)])
def test_room_is_known_where_that_very_folder_was_asked_for(asked: str, free: int | None) -> None:
    disk = Disk(
        folder=asked, exists=True, parent=asked, writable=True, owner_uid=1000, filesystem="xfs", mount="/",
        size_bytes=9, free_bytes=7,
    )  # fmt: skip
    survey = of_facts(machine=machine_of("dual_turin", home=HOME), disk=disk)
    assert survey.checkpoint.free_bytes == free
    assert ("free disk" in survey.unasked) is (free is None)
