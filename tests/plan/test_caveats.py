"""What may spoil a launch: faults of the cards, what the host did not tell, what logind would do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.facts.driver import Driver
from orchestrator.facts.gpus import Gpus
from orchestrator.facts.source import Unknown
from orchestrator.plan import caveats, resolve
from orchestrator.survey.survey import Survey
from tests.jobs import KIMI
from tests.plan.hosts import TIMED_OUT, host, machine_of
from tests.surveys import cards, engine


def warned(found: Survey) -> str:
    return "\n".join(caveats.warnings(found, None, resolve.standing(KIMI, found)))


def test_a_host_that_tells_everything_is_warned_of_logind_alone() -> None:
    assert all("logind" in line for line in warned(host()).splitlines())


@pytest.mark.parametrize(
    ("facts", "words", "not_words"),
    [
        ({"machine": machine_of("no_machine_id")}, "logind ends this user's processes", "not known"),
        ({"machine": TIMED_OUT}, "the machine is not known (no answer within 30 s): a mirror", "gives no reason"),
        ({"topology": TIMED_OUT}, "how the GPUs are connected is not known", "gives no reason"),
        ({"p2p": TIMED_OUT}, "whether the GPUs reach each other's memory is not known", "gives no reason"),
        ({"gpu_processes": TIMED_OUT}, "who computes on the GPUs is not known", "gives no reason"),
        ({"gpus": Gpus(cards().gpus, ("Unable to determine the device handle for GPU8: Unknown Error",))}, "handle for GPU8", ""),
        ({"gpus": Gpus((*cards(7).gpus, replace(cards(1).gpus[0], index=7, mig="Enabled")))}, "GPU7 is cut up (MIG)", ""),
    ],
)  # fmt: skip
def test_what_is_missing_is_told_and_takes_nothing_else(
    facts: dict[str, Any], words: str, not_words: str
) -> None:
    said = warned(host(**facts))
    assert words in said
    assert not not_words or not_words not in said


@pytest.mark.parametrize(
    ("built_for", "goes_to", "words"),
    [
        ("13.0", "12.8", "torch is built for CUDA 13.0: it does not start"),
        ("12.9", "12.8", "torch is built for CUDA 12.9: it starts"),
        ("12.8", "12.8", ""),
        ("12.8", "13.0", ""),
        (None, "12.8", ""),
        ("12.8", None, ""),
    ],
)
def test_a_driver_that_does_not_go_far_enough(built_for: str | None, goes_to: str | None, words: str) -> None:
    loaded = Driver("570.1", goes_to, "570.1", True)
    warning = warned(host(driver=loaded, engine=replace(engine(), torch_cuda=built_for)))
    assert words in warning
    assert words or "the driver goes up" not in warning


def test_what_may_spoil_a_launch_on_a_card_is_told() -> None:
    first, *others = cards().gpus
    doubtful = Gpus((replace(first, ecc_uncorrected=2, recovery="Reset"), *others))
    said = warned(host(gpus=doubtful))
    assert "GPU0: 2 uncorrected ECC errors since the driver was loaded" in said
    assert "GPU0: the driver recommends Reset" in said


CUT_UP = replace(
    cards(1).gpus[0], index=7, faults=("driver_version: [Unknown Error]", "name: [x]"), mig="Enabled"
)


@pytest.mark.parametrize(
    ("facts", "lines"),
    [
        ({"machine": TIMED_OUT}, ["the machine is not known (no answer within 30 s): a mirror of the Hub that is set there, and what logind does at a logout, are not known"]),
        ({"gpu_processes": TIMED_OUT}, ["who computes on the GPUs is not known (no answer within 30 s): memory that others hold is nobody's"]),
        ({"gpu_processes": TIMED_OUT, "gpus": cards(0)}, []),
        ({"gpu_processes": Unknown("not_asked", "nobody asked")}, []),
        ({"topology": TIMED_OUT}, ["how the GPUs are connected is not known (no answer within 30 s): no variable of NCCL is chosen by it"]),
        ({"p2p": TIMED_OUT}, ["whether the GPUs reach each other's memory is not known (no answer within 30 s): NCCL's variables may be idle"]),
        ({"topology": TIMED_OUT, "gpus": cards(2)}, ["how the GPUs are connected is not known (no answer within 30 s): no variable of NCCL is chosen by it"]),
        ({"topology": TIMED_OUT, "gpus": cards(1)}, []),
        ({"p2p": ((0, 1, "NS"),)}, []),
        ({"gpus": Gpus((*cards(7).gpus, CUT_UP))}, [
            "GPU7 does not tell all: driver_version: [Unknown Error], name: [x]", "GPU7 is cut up (MIG): no launch gets the whole of it",
        ]),
    ],
)  # fmt: skip
def test_every_warning_in_words(facts: dict[str, Any], lines: list[str]) -> None:
    said = warned(host(**facts)).splitlines()
    assert [line for line in said if not line.startswith("logind")] == lines


def test_a_launch_of_one_gpu_is_not_warned_of_links() -> None:
    alone = KIMI.with_overrides(["parallel.tensor=1"])
    found = host(topology=TIMED_OUT, p2p=TIMED_OUT)
    assert not [
        line for line in caveats.warnings(found, None, resolve.standing(alone, found)) if "GPUs" in line
    ]


def test_variables_that_the_version_does_not_read_are_warned_of_where_it_is_known() -> None:
    old = KIMI.with_overrides((), (), ("VLLM_ATTENTION_BACKEND=TRITON_MLA",))
    options = resolve.standing(old, host())
    assert [line for line in caveats.warnings(host(), "0.20.0", options) if "VLLM_ATTENTION" in line]
    assert not [line for line in caveats.warnings(host(), None, options) if "VLLM_ATTENTION" in line]


@pytest.mark.parametrize(("kills", "removes"), [(False, False), (True, False), (False, True), (True, True)])
def test_what_logind_would_do_is_told_each_by_itself(kills: bool, removes: bool) -> None:
    here = machine_of("dual_turin", kill_user_processes=kills, remove_ipc=removes, linger=False)
    harm = {
        "logind ends this user's processes at the last logout (KillUserProcesses), the launch too": here.logout_kills,
        "logind removes this user's shared memory at the last logout (RemoveIPC), the launch's too": here.logout_removes_shm,
    }
    keeps = "--consent linger keeps it (loginctl enable-linger)"
    assert warned(host(machine=here)).splitlines() == [
        f"{text}: {keeps}" for text, true in harm.items() if true
    ]
    assert caveats.wants_linger(host(machine=here)) is (here.logout_kills or here.logout_removes_shm)
    assert caveats.wants_linger(host(machine=TIMED_OUT)) is False
