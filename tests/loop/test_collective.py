"""Which GPUs are measured, with what, and when they are left alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.checks.check import Check
from orchestrator.facts.gpu_processes import GpuProcess
from orchestrator.facts.gpus import Gpus
from orchestrator.facts.saved import Saved
from orchestrator.loop.collective import Probe, prepared, request
from orchestrator.playbook.playbook import Playbook
from tests.jobs import KIMI
from tests.plan.hosts import TIMED_OUT, host
from tests.surveys import cards

TRAINING = GpuProcess("GPU-3", 8121, "python3", 40_000, "ml", "python3 train.py")
HELD = Gpus(tuple(replace(card, memory_used_mib=9_000) for card in cards(8).gpus))


def ready(playbook: Playbook | None, **facts: Any) -> Probe | Check:
    return prepared(Saved("gpu7", "", host(**facts).facts), playbook)


def test_the_plans_variables_are_weighed_against_none() -> None:
    playbook = KIMI.with_overrides(
        ["environment.NCCL_PROTO=null", "parallel.tensor=4"], env=["VLLM_API_KEY=hush-hush-1", "A=1"]
    )
    test = ready(playbook)
    assert isinstance(test, Probe)
    assert [card.index for card in test.cards] == [0, 1, 2, 3]
    assert test.variables == {"NCCL_P2P_LEVEL": "SYS"}
    assert (test.environment["A"], "VLLM_API_KEY" in test.environment) == ("1", False)
    assert test.python == "/home/ml/ml-env/bin/python3"
    asked = request(test)
    assert [run.name for run in asked.runs] == ["tuned", "untuned"]
    assert asked.runs[1].variables == {}
    assert asked.fallback and asked.fallback.variables == {"NCCL_P2P_LEVEL": "SYS", "NCCL_P2P_DISABLE": "1"}
    assert asked.cards == ("GPU-0", "GPU-1", "GPU-2", "GPU-3")


def test_without_a_playbook_all_gpus_and_what_their_links_ask_for() -> None:
    test = ready(None)
    assert isinstance(test, Probe)
    assert (len(test.cards), test.environment) == (8, {})
    assert test.variables == {"NCCL_P2P_LEVEL": "SYS", "NCCL_PROTO": "LL"}
    unknown = ready(None, topology=TIMED_OUT)
    assert isinstance(unknown, Probe)
    assert [run.name for run in request(unknown).runs] == ["untuned"]


@pytest.mark.parametrize(
    ("options", "facts", "verdict", "words"),
    [
        ([], {"gpus": cards(0)}, "pass", "not applicable: no GPU is seen here"),
        ([], {"gpus": cards(1)}, "pass", "not applicable: one GPU is seen here"),
        (["parallel.tensor=1"], {}, "pass", "not applicable: the launch takes one GPU"),
        ([], {"gpu_processes": (TRAINING,)}, "fail", "the GPUs are in use: pid 8121 (python3 train.py, user ml) holds 40,000 MiB"),
        (["parallel.tensor=2"], {"gpu_processes": (TRAINING,)}, None, ""),
        ([], {"gpus": HELD, "gpu_processes": TIMED_OUT}, "fail", "GPU0 is in use: 9,000 MiB are held by what cannot be seen"),
        (["environment.CUDA_VISIBLE_DEVICES=nobody"], {}, "fail", "which GPUs the launch takes is not known"),
    ],
)  # fmt: skip
def test_what_is_left_alone(
    options: list[str], facts: dict[str, Any], verdict: str | None, words: str
) -> None:
    test = ready(KIMI.with_overrides(options), **facts)
    if verdict is None:
        assert isinstance(test, Probe)
        return
    assert isinstance(test, Check)
    assert test.verdict == verdict
    assert words in test.sentence
