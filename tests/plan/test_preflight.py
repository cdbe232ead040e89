"""What a person is told before a launch: faults of the cards, and what the host did not tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.facts import machine, topology
from orchestrator.facts.gpus import Gpus
from orchestrator.facts.machine import Machine
from orchestrator.facts.source import Output, Unknown
from orchestrator.plan import preflight, resolve
from orchestrator.playbook import playbook as playbooks
from orchestrator.playbook.playbook import Playbook
from orchestrator.survey.survey import Survey
from tests.facts.cases_of import CASES
from tests.surveys import cards, knowing, survey

KIMI = playbooks.find("kimi-k2.5", [shipped("playbooks")])
SOCKETS = topology.parse(Output(0, (CASES / "topology/pcie_8gpu_node_sys.txt").read_text()))
TIMED_OUT = Unknown("no_answer", "no answer within 30 s")


def machine_of(name: str, **more: Any) -> Machine:
    read = machine.parse(Output(0, (CASES / "machine" / f"{name}.txt").read_text()))
    assert isinstance(read, Machine)
    return replace(read, **more)


def told(**facts: Any) -> Survey:
    usual = {"machine": machine_of("dual_turin"), "topology": SOCKETS, "p2p": (), "gpu_processes": ()}
    return knowing(survey(), **{**usual, **facts})


def warned(found: Survey) -> str:
    return "\n".join(preflight.warnings(found, None, resolve.standing(KIMI, found)))


def test_a_host_that_tells_everything_is_warned_of_logind_alone() -> None:
    assert all("logind" in line for line in warned(told()).splitlines())


@pytest.mark.parametrize(
    ("facts", "words", "not_words"),
    [
        ({"machine": machine_of("no_machine_id")}, "logind ends this user's processes", "not known"),
        ({"machine": machine_of("dual_turin", sockets=None)}, "does not tell its sockets (lscpu): NCCL_PROTO", "gives no reason"),
        ({"machine": machine_of("dual_turin", cpu_vendor=None)}, "CPU's vendor (lscpu): NCCL_PROTO", "gives no reason"),
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
    said = warned(told(**facts))
    assert words in said
    assert not not_words or not_words not in said


def lost(count: int) -> Gpus:
    """Eight cards, of which so many want a reset."""
    fault = ("memory.total: [GPU requires reset]",)
    return Gpus(
        tuple(
            replace(card, memory_mib=None, faults=fault) if card.index >= 8 - count else card
            for card in cards().gpus
        )
    )


@pytest.mark.parametrize(
    ("gpus", "code", "words"),
    [
        (lost(1), "gpu_lost", "GPU7 says memory.total: [GPU requires reset], kimi-k2.5 needs 8 of 8 GPUs"),
        (
            Gpus(cards(7).gpus, ("handle for GPU7: Unknown Error",)),
            "gpus_missing",
            "besides: handle for GPU7",
        ),
        (Gpus((*lost(1).gpus, replace(cards(1).gpus[0], index=8))), None, ""),
    ],
)
def test_a_card_that_is_lost_is_named(gpus: Gpus, code: str | None, words: str) -> None:
    refused = preflight.refusals("gpu7", KIMI, told(gpus=gpus), "0.16.0")
    assert [one.code for one in refused] == ([code] if code else [])
    assert not code or words in refused[0].message


def refused(
    found: Survey, version: str | None = "0.16.0", playbook: Playbook = KIMI
) -> list[tuple[str, str]]:
    return [(one.code, one.message) for one in preflight.refusals("gpu7", playbook, found, version)]


def test_a_host_that_has_everything_is_not_refused() -> None:
    assert refused(told()) == []


def test_a_host_without_a_right_engine_is_told_what_is_there_instead() -> None:
    python = KIMI.engine.python
    assert refused(survey(version=None), None) == [("no_engine", f"gpu7: {python}: vllm is not installed")]
    silent = knowing(survey(), engine=TIMED_OUT)
    assert refused(silent, None) == [("no_engine", f"gpu7: {python}: no answer within 30 s")]
    outside = "gpu7: vLLM 0.14.1 is outside >=0.15, which kimi-k2.5 needs"
    assert refused(survey(version="0.14.1"), "0.14.1") == [("engine_version", outside)]


def test_cards_that_are_missing_unknown_lost_or_small() -> None:
    assert refused(told(gpus=TIMED_OUT)) == [("gpus_unknown", "gpu7: no answer within 30 s")]
    assert refused(told(gpus=cards(4))) == [("gpus_missing", "gpu7 has 4 GPUs, kimi-k2.5 needs 8")]
    assert [code for code, _ in refused(told(gpus=lost(2)))] == ["gpu_lost"]
    (small,) = refused(told(gpus=cards(memory_mib=90 * 1024 - 1)))
    assert small == ("gpu_memory", "gpu7: GPU0 has 92159 MiB, kimi-k2.5 needs 90 GiB a GPU")
    assert refused(told(gpus=cards(memory_mib=90 * 1024))) == []
    assert refused(told(gpus=cards(memory_mib=None))) == []


def test_a_model_that_needs_no_card_asks_for_none() -> None:
    none = KIMI.model_copy(update={"needs": KIMI.needs.model_copy(update={"gpus": 0})})
    assert refused(told(gpus=TIMED_OUT), playbook=none) == []
    assert [code for code, _ in refused(told(gpus=cards(0)))] == ["gpus_missing"]


@pytest.mark.parametrize(("kills", "removes"), [(False, False), (True, False), (False, True), (True, True)])
def test_what_logind_would_do_is_told_each_by_itself(kills: bool, removes: bool) -> None:
    here = machine_of("dual_turin", kill_user_processes=kills, remove_ipc=removes, linger=False)
    said = warned(told(machine=here))
    assert ("KillUserProcesses" in said, "RemoveIPC" in said) == (here.logout_kills, here.logout_removes_shm)
    assert preflight.wants_linger(told(machine=here)) is (here.logout_kills or here.logout_removes_shm)
    assert preflight.wants_linger(told(machine=TIMED_OUT)) is False
