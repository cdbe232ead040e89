"""What is fetched, and that the lock is sure before a byte is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.download import fetch
from orchestrator.programs.download import Manifest
from orchestrator.programs.inspect_checkpoint import Index
from orchestrator.steps.download import Download
from orchestrator.survey.checkpoint import Checkpoint
from tests.steps.doing import do, plan
from tests.surveys import NO_FILES, SHARDS, WHOLE, survey

INDEX = Index(
    total_size=590_700_000_000, shards=SHARDS, present=SHARDS[:60], missing=SHARDS[60:], broken=False
)
HALF = replace(WHOLE, index=INDEX)
CUT_OFF = replace(WHOLE, manifest=Manifest(files={}))
NO_INDEX = replace(WHOLE, index=None)


@pytest.mark.parametrize(
    ("checkpoint", "fetches", "bytes_"),
    [
        (WHOLE, False, 0),
        (NO_INDEX, False, 0),  # the check that follows knows more
        (NO_FILES, True, 590_700_000_000),
        (HALF, True, 292_868_067_227),
        (CUT_OFF, True, None),
    ],
)
def test_what_is_known_to_be_missing_is_fetched(
    checkpoint: Checkpoint, fetches: bool, bytes_: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[Any] = []
    monkeypatch.setattr(fetch, "fetch", lambda job, found, proceed: fetched.append(found))
    step = Download(plan(survey(checkpoint=checkpoint)))
    assert step.effects.network_bytes == bytes_
    assert step.effects.words[0].startswith("fetch" if fetches else "nothing")
    assert do(step) == (("verify", 1) if fetches else (None, 0))
    assert len(fetched) == fetches


@pytest.mark.parametrize(
    ("checkpoint", "rate", "seconds"),
    [
        (HALF, 100_000_000, 2928.68067227),
        (HALF, None, None),
        (CUT_OFF, 100_000_000, None),
        (WHOLE, 100_000_000, None),
    ],
)
def test_the_last_downloads_rate_tells_how_long_it_takes(
    checkpoint: Checkpoint, rate: int | None, seconds: float | None
) -> None:
    manifest = Manifest(files={}, complete=checkpoint is not CUT_OFF, rate=rate)
    there = replace(checkpoint, manifest=manifest)
    assert Download(plan(survey(checkpoint=there))).effects.seconds == pytest.approx(seconds)
    bare = replace(checkpoint, manifest=None)
    assert Download(plan(survey(checkpoint=bare))).effects.seconds is None
