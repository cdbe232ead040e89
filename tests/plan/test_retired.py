"""A patch that was applied for what one release is certain to fail with is named once a newer one is there."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.plan.plan import Plan
from tests.plan.test_predict import CHECKPOINTS, PATCHES, patch, plan
from tests.surveys import WHOLE, survey

PATCHED = CHECKPOINTS["KV in the model's dtype"]
FILES = [{"name": "config.json", "before": "a", "after": "b"}]
RECORD = {
    "action": "patch",
    "patch": "fp8-kv-mla",
    "folder": WHOLE.folder,
    "files": FILES,
    "why": "certain",
    "engine": {"kv_cache_dtype": "fp8_e4m3"},
}


def planned(version: str, *patches: Any, **record: Any) -> Plan:
    return plan(
        survey(version=version, checkpoint=PATCHED, journal=[{**RECORD, **record}]), *(patches or PATCHES)
    )


def test_it_is_named_with_the_release_since_which_and_the_command() -> None:
    newer = planned("0.20.2")
    assert newer.as_json()["retired"] == [{"patch": "fp8-kv-mla", "since": "0.18"}]
    (sentence,) = [words for words in newer.warnings if "no longer needed" in words]
    assert "since vLLM 0.18" in sentence and "--patch fp8-kv-mla" in sentence


@pytest.mark.parametrize(
    ("version", "record"),
    [
        ("0.17.1", {}),
        ("0.16.0", {}),
        ("0.20.2", {"why": "finding"}),  # a failure that was seen on a release that nobody knows
        ("0.20.2", {"why": "forced"}),
        ("0.20.2", {"files": [], "flags": {"--seed": "1"}}),
        ("0.20.2", {"engine": {}}),  # of an older release of this program
        ("0.20.2", {"engine": {"kv_cache_dtype": "fp8_e5m2"}}),  # refused to this day
        ("0.20.2", {"patch": "gone"}),
    ],
)
def test_where_it_may_be_needed_nothing_is_said(version: str, record: dict[str, Any]) -> None:
    assert planned(version, **record).retired == ()


def test_what_was_put_on_again_answers_what_it_was_first_applied_for() -> None:
    again = {**RECORD, "why": "again", "engine": {}}
    twice = plan(survey(version="0.20.2", checkpoint=PATCHED, journal=[RECORD, again]), *PATCHES)
    assert [each.since for each in twice.retired] == ["0.18"]


def test_a_window_on_the_files_cannot_be_judged_on_those_that_it_has_changed() -> None:
    on_files = patch({"vllm": "<0.18", "config": {"/odd/key": "1"}})
    on_versions = patch({"vllm": "<0.18"})
    assert planned("0.20.2", on_files, patch="mine").retired == ()
    assert planned("0.20.2", on_versions, patch="mine").retired != ()
