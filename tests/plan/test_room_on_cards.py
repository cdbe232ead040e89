"""Memory on the cards that somebody holds, in the plan of a launch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.facts.gpu_processes import GpuProcess
from orchestrator.facts.gpus import Gpus
from orchestrator.plan.plan import Plan, make_plan
from orchestrator.plan.wishes import Goal, Wishes
from orchestrator.survey.survey import Survey
from tests.jobs import KIMI, PATCHES
from tests.surveys import (
    MEMBER,
    NEVER_LAUNCHED,
    cards,
    knowing,
    survey,
)


def plan(surveyed: Survey, **wishes: Any) -> Plan:
    return make_plan("gpu7", KIMI, surveyed, Wishes(patches=PATCHES, **wishes))


def occupied(mib: int, *, own: bool = False, **more: Any) -> Survey:
    """Somebody's process on GPU3, which holds so much of it."""
    surveyed = survey(**more)
    taken = [replace(card, memory_used_mib=mib + 2) if card.index == 3 else card for card in cards().gpus]
    process = GpuProcess("GPU-3", 8121, "python3", mib, "ml", "python3 train.py")
    surveyed = knowing(surveyed, gpus=Gpus(tuple(taken)), gpu_processes=(process,))
    return replace(surveyed, facts=replace(surveyed.facts, own=frozenset([8121] if own else [])))


LIVES = replace(NEVER_LAUNCHED, launch=1, alive=True, members=(MEMBER,))


def test_memory_that_somebody_else_holds_is_foreseen_and_told_with_certainty() -> None:
    (refusal,) = plan(occupied(60_000)).refusals
    assert (refusal.code, refusal.exit_code) == ("gpu_busy", 4)
    assert "GPU3 has 37,885 of 97,887 MiB free" in refusal.message
    assert "pid 8121 (python3 train.py, user ml) holds 60,000 MiB" in refusal.message
    # 71 GiB of weights fit into no share that is left: none is offered
    assert "gpu-memory-utilization" not in refusal.message
    assert refusal.next_command == "nvidia-smi  # on gpu7"


@pytest.mark.parametrize(
    ("surveyed", "goal", "codes"),
    [
        (occupied(60_000, own=True), "up", []),
        (occupied(60_000, observed=LIVES), "up", []),  # a launch that lives is followed, whoever came later
        (occupied(60_000, observed=LIVES), "restart", ["gpu_busy"]),
        (replace(occupied(60_000), fresh=False), "up", []),  # what was true when the run began
        (survey(), "up", []),
    ],
)
def test_room_on_the_cards_is_judged_for_a_launch_that_is_about_to_start(
    surveyed: Survey, goal: Goal, codes: list[str]
) -> None:
    planned = make_plan("gpu7", KIMI, surveyed, Wishes(patches=PATCHES), goal=goal)
    assert [refusal.code for refusal in planned.refusals] == codes


def test_memory_that_a_launch_of_ours_may_be_giving_back_is_a_warning() -> None:
    def unseen(**more: Any) -> Survey:
        return knowing(occupied(60_000, **more), gpu_processes=())

    died = plan(unseen(journal=[{"action": "launch", "launch": 1}]))
    assert died.refusals == ()
    assert any("cannot be seen from here" in warning for warning in died.warnings)
    assert [refusal.code for refusal in plan(unseen()).refusals] == ["gpu_busy"]


def test_a_little_less_than_vllm_takes_is_a_warning() -> None:
    crowded = KIMI.model_copy(update={"arguments": {**KIMI.arguments, "gpu-memory-utilization": 0.99}})
    planned = make_plan("gpu7", crowded, occupied(3_500), Wishes(patches=PATCHES))
    assert planned.refusals == ()
    assert any("GPU3 has 94,385 of 97,887 MiB free" in warning for warning in planned.warnings)


@pytest.mark.parametrize("consents", [(), ("share-cards",)])
def test_with_the_consent_a_launch_is_made_as_small_as_it_has_to_be(consents: tuple[str, ...]) -> None:
    planned = plan(occupied(16_000), consents=consents)
    if not consents:
        (refusal,) = planned.refusals
        assert refusal.known == {
            "setting": "arguments.gpu-memory-utilization=0.81",
            "shorter": "context=21168",
        }
        assert "--consent share-cards" in refusal.message
        return
    assert planned.refusals == ()
    argv = list(planned.options.argv)
    assert argv[argv.index("--gpu-memory-utilization") + 1] == "0.81"
    assert argv[argv.index("--max-model-len") + 1] == "21168"
    assert planned.options.given["gpu-memory-utilization"].origin == "chosen"
    assert planned.fit.verdict == "fits"
    assert any(
        "pid 8121 (python3 train.py, user ml) holds 16,000 MiB. It stays, and by the consent" in each
        for each in planned.warnings
    )
    assert planned.gpu_at_most_mib["GPU-3"] > 16_002


def test_the_consent_mends_nothing_where_no_smaller_share_would_do() -> None:
    (refusal,) = plan(occupied(60_000), consents=("share-cards",)).refusals
    assert "No smaller share of the card would do" in refusal.message
