"""What is damaged is taken away once it was hashed: told before, done under the lock."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.base.errors import CheckpointError
from orchestrator.plan.change import Change
from orchestrator.programs.download import Manifest
from orchestrator.steps.discard import DiscardStep
from tests.jobs import PATCHES, Answering, job
from tests.steps.doing import do, plan
from tests.surveys import WHOLE, survey

FILES: dict[str, Any] = {"a.safetensors": {"size": 5, "sha256": "s"}, "b.json": {"size": 6, "sha256": None}}
FETCHED = survey(checkpoint=replace(WHOLE, manifest=Manifest.model_validate({"files": FILES})))


def step(*names: str) -> DiscardStep:
    return DiscardStep(plan(FETCHED), Change(PATCHES[0], "finding", "", redownloads=names))


def test_what_will_be_looked_at_is_told() -> None:
    assert step("a", "b").effects.words == ("take away what is damaged of a, b",)
    assert step("a", "b").effects.files == (f"{WHOLE.folder}/a", f"{WHOLE.folder}/b")
    assert step("*").effects.words == ("take away what is damaged of the shards",)
    assert step("*").effects.depends == "which of them are damaged shows once they are hashed"


@pytest.mark.parametrize(
    ("names", "hashed"), [(("a.safetensors",), ["a.safetensors"]), (("*",), [*FILES]), (("other",), [])]
)
def test_the_files_that_the_remedy_names_are_compared_with_what_was_fetched(
    names: tuple[str, ...], hashed: list[str]
) -> None:
    host = Answering(discard={"discarded": ["a.safetensors"], "sound": [], "kept": []})
    assert do(step(*names), job(host)) == (None, 1)
    ((program, request),) = host.asked
    assert (program, request["folder"]) == ("discard", WHOLE.folder)
    assert request["files"] == {name: FILES[name] for name in hashed}


def test_files_that_are_sound_are_not_fetched_again() -> None:
    with pytest.raises(CheckpointError) as caught:
        do(step("*"), job(Answering(discard={"discarded": [], "sound": ["a.safetensors"], "kept": []})))
    assert caught.value.code == "not_damaged"
