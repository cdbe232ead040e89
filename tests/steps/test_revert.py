"""What taking a patch back tells, before and after."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.programs.config_files import Done
from orchestrator.programs.journal import FileChange
from orchestrator.remedy import apply
from orchestrator.steps.revert import Revert
from orchestrator.survey.journal import AppliedPatch
from tests.jobs import Answering, Told, job
from tests.steps.doing import do

APPLIED = AppliedPatch("fp8-kv-mla", "/m", (FileChange(name="config.json", before="a", after="b"),))
OPTIONS = AppliedPatch("context-too-long", "/m", flags={"--max-model-len": "4096"})


def test_what_would_be_taken_back() -> None:
    assert Revert(APPLIED).effects.words == ("take fp8-kv-mla back: config.json in /m",)
    assert Revert(APPLIED).effects.files == ("/m/config.json",)
    assert Revert(APPLIED, forget=True).effects.files == ()
    assert Revert(OPTIONS).effects.words == ("take context-too-long back: options only in /m",)


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({"by_person": True}, "fp8-kv-mla   config.json: restored"),
        ({"by_person": False}, "fp8-kv-mla taken back, it did not help"),
        (
            {"by_person": False, "withdrawn": True},
            "fp8-kv-mla taken back, not every host of the group could take it",
        ),
    ],
)
def test_what_was_taken_back(how: dict[str, bool], text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def revert(job: Any, applied: AppliedPatch, **how: Any) -> tuple[Done, ...]:
        asked.append((applied, how))
        return (Done(name="config.json", done="restored"),)

    monkeypatch.setattr(apply, "revert", revert)
    told = Told()
    assert do(Revert(APPLIED, **how), job(Answering(), told)) == (None, 1)
    assert asked == [(APPLIED, {"forget": False, "withdrawn": False, **how})]
    assert told.events[-1].text == text
