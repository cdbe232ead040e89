"""What becomes of a checkpoint that is not whole."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.base.errors import CheckpointError
from orchestrator.cli.hints import after
from orchestrator.download import fetch
from orchestrator.download import verdict as verdicts
from orchestrator.download.verdict import Checked
from orchestrator.steps.verify import Onset, VerifyStep
from tests.steps.doing import do, plan
from tests.surveys import WHOLE

WHOLE_ONE: dict[str, Any] = {
    "whole": True, "shards": 1, "tensors": 2, "bytes": 3, "bad": [], "index": None, "patched": []
}  # fmt: skip
BAD = {**WHOLE_ONE, "whole": False, "bad": [{"file": "a b.safetensors", "why": "is cut off"}]}


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    fetched: list[Any] = []
    monkeypatch.setattr(fetch, "fetch", lambda job, found, proceed: fetched.append(found))
    return fetched


def verdict(monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any]) -> None:
    monkeypatch.setattr(verdicts, "judge", lambda job, found, deep: Checked.model_validate(answer))


def test_a_whole_checkpoint_is_left_alone(monkeypatch: pytest.MonkeyPatch, fetched: list[Any]) -> None:
    verdict(monkeypatch, WHOLE_ONE)
    assert do(VerifyStep(plan(), "fetch")) == (None, 0)
    assert fetched == []


def test_what_is_broken_is_fetched_again_and_judged_anew(
    monkeypatch: pytest.MonkeyPatch, fetched: list[Any]
) -> None:
    verdict(monkeypatch, BAD)
    assert do(VerifyStep(plan(), "fetch")) == ("verify", 1)
    assert len(fetched) == 1


@pytest.mark.parametrize(
    ("broken", "following"),
    [
        ("fetched", f"ls -l '{WHOLE.folder}/a b.safetensors'  # on gpu7"),
        ("refuse", "deploy kimi-k2.5 --host gpu7"),
    ],
)
def test_what_stays_broken_is_named(
    broken: Onset, following: str, monkeypatch: pytest.MonkeyPatch, fetched: list[Any]
) -> None:
    verdict(monkeypatch, BAD)
    with pytest.raises(CheckpointError) as raised:
        do(VerifyStep(plan(), broken))
    raised.value.asked = "kimi-k2.5 --host gpu7"
    assert (raised.value.code, after(raised.value, "deploy")) == ("checkpoint_broken", following)
    assert "a b.safetensors: is cut off" in raised.value.message
    assert fetched == []
