"""What a remedy cleans besides the launch; another launch without memory would only be refused again."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.launch.failure import GpuBusy
from orchestrator.plan.change import Change
from orchestrator.plan.gpu_room import Demand, Shortage
from orchestrator.remedy import carry_out
from orchestrator.steps.clean_up import CleanUp
from tests.jobs import PATCHES
from tests.steps.doing import do, plan
from tests.surveys import cards

CHANGE = Change(PATCHES[0], "finding", "", cleanups=("compile_cache", "gpu_memory_wait"))
SHORT = Shortage(cards(1).gpus[0], 10, 20, Demand("vLLM", "gpu-memory-utilization", 1, 0.9), 1, (), 0)


def test_each_is_named_before() -> None:
    step = CleanUp(plan(), CHANGE, 3)
    assert step.effects.words == ("clean up compile cache", "clean up gpu memory wait")


@pytest.mark.parametrize("short", [None, SHORT])
def test_it_is_cleaned_under_the_lock_and_nothing_follows_where_memory_is_short(
    short: Shortage | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleaned: list[Any] = []
    monkeypatch.setattr(carry_out, "clean", lambda job, plan, *asked: cleaned.append(asked) or short)
    if short is None:
        assert do(CleanUp(plan(), CHANGE, 3, {"free": "1"})) == (None, 1)
    else:
        with pytest.raises(GpuBusy, match="gpu7: launch 3 failed: ") as caught:
            do(CleanUp(plan(), CHANGE, 3, {"free": "1"}))
        assert caught.value.short is short
    assert cleaned == [(CHANGE.cleanups, {"free": "1"})]
