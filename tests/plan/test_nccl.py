"""Which of NCCL's variables are set by a host's links, and what is said of those that somebody else set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from orchestrator.facts import topology
from orchestrator.facts.source import Output, Unknown
from orchestrator.facts.topology import Topology
from orchestrator.patches.patch import Patch
from orchestrator.plan import nccl, resolve
from orchestrator.plan.plan import Plan, make_plan
from orchestrator.plan.wishes import Wishes
from orchestrator.playbook.choice import Choice
from orchestrator.playbook.playbook import Playbook
from orchestrator.report.plan_text import summary
from orchestrator.survey.survey import Survey
from tests.facts.cases_of import CASES, cases
from tests.jobs import KIMI
from tests.plan.hosts import TIMED_OUT, host, machine_of
from tests.surveys import cards

NONE = KIMI.model_copy(update={"environment": {}})


def planned(survey: Survey, playbook: Playbook = KIMI, patches: Sequence[Patch] = ()) -> Plan:
    return make_plan("gpu7", playbook, survey, Wishes(patches=tuple(patches)))


def set_by_us(plan: Plan) -> dict[str, str]:
    return {item.name: item.shown for item in plan.options.environment if item.origin == "topology"}


def said(plan: Plan) -> dict[str, str]:
    return {item.variable.name: item.sentence for item in plan.environment}


def matrix(name: str) -> Topology:
    read = topology.parse(Output(0, (CASES / "topology" / f"{name}.txt").read_text()))
    assert isinstance(read, Topology)
    return read


@pytest.mark.parametrize(("output", "expected"), cases("topology"))
def test_every_host_is_set_what_its_links_ask_for(output: Output, expected: dict[str, Any]) -> None:
    links = topology.parse(output)
    count = expected.get("gpus", 4)
    playbook = NONE.with_overrides([f"parallel.tensor={count}"])
    for cpu, wanted in expected.get("nccl", {"GenuineIntel 2": {}}).items():
        vendor, sockets = cpu.split()
        system = machine_of("dual_turin", cpu_vendor=vendor, sockets=int(sockets))
        plan = planned(host(topology=links, machine=system, gpus=cards(count)), playbook)
        assert set_by_us(plan) == wanted, cpu
        for told in plan.as_json()["environment"]:
            assert told["confirmed"] is True
            assert told["fact"] == told["reason"] != ""
            assert told["leave_out"] == f"--set environment.{told['name']}=null"


@pytest.mark.parametrize(
    ("facts", "options", "wanted"),
    [
        ({}, [], {"NCCL_P2P_LEVEL": "SYS", "NCCL_PROTO": "LL"}),
        ({}, ["environment.NCCL_PROTO=null"], {"NCCL_P2P_LEVEL": "SYS"}),
        ({}, ["environment.NCCL_PROTO=Simple", "environment.NCCL_P2P_LEVEL=PHB"], {}),
        ({}, ["environment.NCCL_P2P_DISABLE=1"], {"NCCL_PROTO": "LL"}),
        ({}, ["environment.NCCL_P2P_DISABLE=0"], {"NCCL_P2P_LEVEL": "SYS", "NCCL_PROTO": "LL"}),
        ({}, ["parallel.tensor=1"], {}),
        ({}, ["parallel.tensor=4"], {"NCCL_P2P_LEVEL": "PHB"}),
        ({}, ["parallel.tensor=1", "parallel.pipeline=8"], {"NCCL_P2P_LEVEL": "SYS", "NCCL_PROTO": "LL"}),
        ({}, ["parallel.tensor=2", "environment.CUDA_VISIBLE_DEVICES='3,4'"], {}),
        ({"machine": machine_of("dual_turin", cpu_vendor="GenuineIntel")}, ["parallel.tensor=2", "environment.CUDA_VISIBLE_DEVICES='3,4'"], {"NCCL_P2P_LEVEL": "SYS"}),
        ({}, ["parallel.tensor=2", "environment.CUDA_VISIBLE_DEVICES='3,no'"], {}),
        ({"machine": machine_of("dual_turin", nccl=("NCCL_P2P_LEVEL",))}, [], {"NCCL_PROTO": "LL"}),
        ({"machine": machine_of("dual_turin", nccl=("NCCL_P2P_DISABLE",))}, [], {"NCCL_PROTO": "LL"}),
        ({"machine": TIMED_OUT}, [], {"NCCL_P2P_LEVEL": "SYS"}),
        ({"p2p": TIMED_OUT}, [], {"NCCL_P2P_LEVEL": "SYS", "NCCL_PROTO": "LL"}),
        ({"topology": TIMED_OUT}, [], {}),
        ({"topology": Unknown("not_asked", "nobody asked")}, [], {}),
        ({"gpus": cards(0)}, [], {}),
        ({"p2p": tuple((a, b, "NS") for a in range(8) for b in range(a + 1, 8))}, [], {"NCCL_P2P_DISABLE": "1"}),
        ({"p2p": tuple((a, b, "NS") for a in range(8) for b in range(a + 1, 8))}, ["environment.NCCL_P2P_DISABLE=null"], {}),
        ({"p2p": ((0, 1, "NS"),)}, [], {}),
        ({"p2p": ((0, 7, "NS"),)}, ["parallel.tensor=4"], {"NCCL_P2P_LEVEL": "PHB"}),
    ],
)  # fmt: skip
def test_what_somebody_decided_is_left_as_it_is(
    facts: dict[str, Any], options: list[str], wanted: dict[str, str]
) -> None:
    assert set_by_us(planned(host(**facts), NONE.with_overrides(options))) == wanted


def test_what_a_remedy_took_away_or_set_stays_so() -> None:
    found = host()
    known = nccl.links(found, None, resolve.standing(NONE, found))
    remedied = resolve.standing(NONE, found).remedied({}, {"NCCL_PROTO": None, "NCCL_P2P_DISABLE": "1"})
    assert nccl.tuned(remedied, NONE, known).sent == {"NCCL_P2P_DISABLE": "1"}
    judged = nccl.confirmations(remedied.environment, known)
    assert judged["NCCL_P2P_DISABLE"] == nccl.Confirmation(
        False, "the driver allows P2P for 28 of 28 pairs (its claim, no test)"
    )


LEVEL, PROTO = "NCCL_P2P_LEVEL", "NCCL_PROTO"


@pytest.mark.parametrize(
    ("facts", "name", "words"),
    [
        ({}, LEVEL, "playbook, confirmed here: GPU0-GPU4 is SYS, across NUMA nodes (nvidia-smi topo)"),
        ({}, PROTO, "playbook, confirmed here: two AMD sockets (lscpu), where NCCL misjudges the links' bandwidth"),
        ({"p2p": TIMED_OUT}, LEVEL, "(nvidia-smi topo); whether the driver lets them reach each other is not known"),
        ({"p2p": ((0, 1, "NS"),)}, LEVEL, "not confirmed here: the driver says NS for GPU0-GPU1 (topo -p2p r) (its reason: eight PCIe"),
        ({"topology": matrix("nvswitch_8gpu_4nic")}, LEVEL, "not confirmed here: all pairs are by NVLink, where NCCL needs no variable"),
        ({"topology": matrix("nvswitch_8gpu_4nic")}, PROTO, "not confirmed here: all pairs are by NVLink"),
        ({"topology": matrix("pcie_8gpu_pix_pxb_node")}, LEVEL, "not confirmed here: the links ask for PHB: GPU0-GPU4 is NODE"),
        ({"topology": matrix("pcie_8gpu_pix_pxb_node")}, PROTO, "it is for more than two GPUs across two AMD sockets"),
        ({"machine": machine_of("dual_turin", sockets=1)}, PROTO, "it is for two AMD sockets, lscpu says 1 here (AuthenticAMD)"),
        ({"machine": machine_of("dual_turin", sockets=None)}, PROTO, "the host does not tell its sockets (lscpu)"),
        ({"machine": machine_of("dual_turin", cpu_vendor=None)}, PROTO, "the host does not tell its CPU vendor (lscpu)"),
        ({"machine": TIMED_OUT}, PROTO, "the host does not tell its sockets (lscpu)"),
        ({"topology": TIMED_OUT}, LEVEL, "how the GPUs are connected is not known (no answer within 30 s)"),
        ({"topology": Unknown("not_asked", "nobody asked")}, PROTO, "not confirmed here: no host was asked"),
        ({"gpus": cards(1)}, LEVEL, "not confirmed here: one GPU runs no collective"),
        ({"gpus": cards(0)}, LEVEL, "not confirmed here: no GPU is seen here"),
    ],
)  # fmt: skip
def test_what_a_playbook_sets_is_the_playbooks_and_judged_by_the_host(
    facts: dict[str, Any], name: str, words: str
) -> None:
    plan = planned(host(**facts))
    sentence = said(plan)[name]
    assert words in sentence
    assert ("(its reason: " in sentence) == ("not confirmed here" in sentence)
    assert not [line for line in plan.warnings if name in line]  # it is said once, and in one way
    told = next(item for item in plan.as_json()["environment"] if item["name"] == name)
    assert told["origin"] == "playbook"
    assert told["confirmed"] is (", confirmed here" in sentence)
    assert str(told["fact"]) in sentence


def test_a_pair_on_an_amd_host_and_values_that_no_link_asks_for() -> None:
    two = KIMI.with_overrides(["parallel.tensor=2", "environment.NCCL_PROTO=LL128"])
    links = matrix("pcie_2gpu_phb")
    spoken = said(planned(host(topology=links, gpus=cards(2)), two))
    assert "not confirmed here: of two GPUs on an AMD host NCCL takes SYS by itself" in spoken[LEVEL]
    assert spoken[PROTO] == "option, not confirmed here: nothing here asks for LL128"


def test_what_the_profile_of_the_cards_set_is_not_the_playbooks() -> None:
    choice = Choice(("environment", LEVEL), "SYS", "as a rule on two sockets")
    guessed = NONE.completed({choice.key: {"value": "SYS", "reason": choice.reason}})
    unasked = host(topology=Unknown("not_asked", "nobody asked"))
    plan = make_plan("gpu7", guessed, unasked, Wishes(patches=()), choices=(choice,))
    assert (
        said(plan)[LEVEL]
        == "profile of the cards, not confirmed here: no host was asked (its reason: as a rule on two sockets)"
    )
    assert [item["origin"] for item in plan.as_json()["environment"]] == ["chosen"]


def test_one_line_below_nccls_variables_says_how_to_leave_them_out() -> None:
    playbook = KIMI.with_overrides(env=["Z=1"])
    lines = summary(planned(host(), playbook))
    hint = lines.index(" " * 13 + "--set environment.NAME=null leaves one out")
    assert all(line.startswith("  nccl") for line in lines[hint - 4 : hint] if line[2] != " ")
    assert any(line.startswith("  env        Z=1   option: given") for line in lines[hint + 1 :])
    alone = summary(planned(host(machine=TIMED_OUT), NONE))
    assert " " * 13 + "--set environment.NCCL_P2P_LEVEL=null leaves it out" in alone
    assert "null leaves" not in "".join(summary(planned(host(topology=matrix("nvswitch_8gpu_4nic")), NONE)))


def test_variables_on_which_no_link_bears_say_who_set_them() -> None:
    playbook = KIMI.with_overrides(
        ["environment.NCCL_DEBUG=INFO", "environment.NCCL_P2P_DISABLE=0"], env=["A=1"]
    )
    plan = planned(host(), playbook)
    told = {item["name"]: item for item in plan.as_json()["environment"]}
    assert said(plan)["VLLM_ENGINE_READY_TIMEOUT_S"].startswith("playbook: 591 GB load in 600 s")
    assert (said(plan)["NCCL_DEBUG"], said(plan)["A"]) == ("option", "option: given with --env")
    for name in ("VLLM_ENGINE_READY_TIMEOUT_S", "NCCL_DEBUG", "NCCL_P2P_DISABLE", "A"):
        assert (told[name]["confirmed"], told[name]["fact"]) == (None, None)
    assert (told["A"]["leave_out"], told["VLLM_ENGINE_READY_TIMEOUT_S"]["leave_out"]) == (
        None,
        "--set environment.VLLM_ENGINE_READY_TIMEOUT_S=null",
    )
