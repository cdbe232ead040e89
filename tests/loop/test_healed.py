"""What healed one replica and is planned for the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.job import Job
from orchestrator.loop.healed import inherit
from orchestrator.loop.reading import Reading
from orchestrator.survey.journal import History
from orchestrator.survey.observed import Observed
from orchestrator.survey.survey import Survey
from tests.jobs import Answering, Told, job
from tests.surveys import cards, knowing, survey

FOLDER = "/home/ml/models/kimi-k2.5-nvfp4"
STARTED = {"action": "launch", "launch": 1}
HEALTHY = {"action": "outcome", "launch": 1, "result": "healthy"}
FLAG = {
    "action": "patch",
    "patch": "kv-cache-below-max-model-len",
    "folder": FOLDER,
    "flags": {"--max-model-len": "4096"},
    "way": "set max-model-len",
    "cause": "no room",
}
EDIT = {
    "action": "patch",
    "patch": "fp8-kv-mla",
    "folder": FOLDER,
    "files": [{"name": "config.json", "before": "a", "after": "b"}],
    "way": "drop",
}


class Seen(Reading):
    """What is seen is given."""

    def __init__(self, name: str, host: str, there: Survey, told: Told | None = None) -> None:
        answering = Answering()
        answering.name = host
        asked = job(answering, told)
        super().__init__(replace(asked, playbook=asked.playbook.as_instance(name)))
        self.there = there

    def survey(self) -> Survey:
        return self.there

    def observe(self, launch: int | None = None) -> tuple[Observed, History]:
        return self.there.observed, self.there.history


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    records: list[tuple[str, Any]] = []
    monkeypatch.setattr(Job, "record", lambda asked, record: records.append((asked.name, record)))
    return records


def healed(*patches: dict[str, Any], confirmed: bool = True) -> Seen:
    ends = [HEALTHY] if confirmed else []
    return Seen("kimi-1", "gpu7", survey(journal=[*patches, STARTED, *ends]))


def test_what_it_set_is_in_force_on_the_others_from_the_start(recorded: list[tuple[str, Any]]) -> None:
    told = Told()
    inherit(healed(FLAG), [Seen("kimi-2", "gpu7", survey(), told), Seen("kimi-3", "gpu8", survey())])
    assert [name for name, _ in recorded] == ["kimi-2", "kimi-3"]
    record = recorded[0][1]
    assert (record.patch, record.flags, record.cause) == (FLAG["patch"], FLAG["flags"], "no room")
    assert any("healed kimi-1" in event.text for event in told.events)


def test_files_are_edited_on_another_host_and_are_so_on_its_own(recorded: list[tuple[str, Any]]) -> None:
    beside, elsewhere = Seen("kimi-2", "gpu7", survey()), Seen("kimi-3", "gpu8", survey())
    inherit(healed(EDIT), [beside, elsewhere])
    assert (beside.job.wishes.forced, elsewhere.job.wishes.forced) == ((), ("fp8-kv-mla",))
    assert elsewhere.job.wishes.inherited == ("fp8-kv-mla",)
    assert recorded == []


def test_a_host_on_which_it_cannot_happen_is_left_alone(recorded: list[tuple[str, Any]]) -> None:
    other = Seen("kimi-3", "gpu8", knowing(survey(), gpus=cards(cap="10.0")))
    inherit(healed(EDIT), [other])
    assert other.job.wishes.forced == ()


def test_nothing_that_did_not_help_or_is_there_already_is_planned(recorded: list[tuple[str, Any]]) -> None:
    has_it = Seen("kimi-2", "gpu7", survey(journal=[FLAG]))
    inherit(healed(FLAG), [has_it])
    inherit(healed(FLAG, confirmed=False), [Seen("kimi-2", "gpu7", survey())])
    inherit(healed(), [Seen("kimi-2", "gpu7", survey())])
    assert recorded == []
