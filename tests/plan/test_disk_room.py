"""Weights that do not fit on the disk are refused where the Hub says how large they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.cli.hints import after
from orchestrator.plan.plan import Plan, make_plan
from orchestrator.plan.wishes import Wishes
from orchestrator.programs.inspect_checkpoint import Index
from tests.plan.test_predict import KIMI
from tests.surveys import NO_FILES, survey

LISTED = Index(total_size=600_000_000_000, shards=("a",), present=(), missing=("a",), broken=False)


def planned(goal: Any = "up", **checkpoint: Any) -> Plan:
    found = survey(checkpoint=replace(NO_FILES, **{"free_bytes": 10**11, **checkpoint}))
    return make_plan("gpu7", KIMI, found, Wishes(), goal=goal)


def test_by_the_hubs_own_sizes_it_is_refused_with_another_folder_as_the_way_out() -> None:
    (refusal,) = planned(index=LISTED).refusals
    assert (refusal.code, refusal.exit_code) == ("disk_full", 4)
    assert refusal.message == (
        "gpu7: the weights are 600 GB by the Hub, 100 GB are free for /home/ml/models/kimi-k2.5-nvfp4"
    )
    assert after(refusal, "deploy plan kimi") == "deploy plan kimi --model-dir DIR"


@pytest.mark.parametrize(
    "known",
    [
        {"index": LISTED, "free_bytes": 600_000_000_000},
        {"index": LISTED, "free_bytes": None},
        {"index": LISTED, "exists": True},  # a download that was cut off has some of it
        {"index": LISTED, "goal": "restart"},
        {},
    ],
)
def test_elsewhere_it_is_not(known: dict[str, Any]) -> None:
    assert planned(**known).refusals == ()


def test_by_figures_alone_it_is_a_warning() -> None:
    (warning,) = [words for words in planned().warnings if "figures" in words]
    assert warning.startswith("the weights are about 591 GB by the playbook's figures, 100 GB are free")
    assert not any("figures" in words for words in planned(free_bytes=10**12).warnings)
