"""What a remedy does once: memory that was waited for and did not come back is no reason for another launch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.base.errors import CheckpointError
from orchestrator.base.events import Event, Report
from orchestrator.facts.gpus import Gpus
from orchestrator.hosts.local import LocalHost
from orchestrator.job import Job
from orchestrator.patches import catalogue
from orchestrator.plan.change import Change
from orchestrator.plan.plan import make_plan
from orchestrator.plan.wishes import Wishes
from orchestrator.playbook import playbook as playbooks
from orchestrator.remedy import carry_out
from tests.surveys import cards, survey

KIMI = playbooks.find("kimi-k2.5", [shipped("playbooks")])
PATCH = next(patch for patch in catalogue.load([shipped("patches")]) if patch.id == "gpu-memory-not-free")
WAITING = Change(patch=PATCH, why="finding", evidence="", cleanups=("orphan_processes", "gpu_memory_wait"))
HOLDER = {
    "gpu_uuid": "GPU-3",
    "pid": 8121,
    "name": "python3",
    "memory_mib": 60000,
    "user": "ml",
    "command": "python3 x",
}


class Host(LocalHost):
    """Answers what a wait for memory came to."""

    def __init__(self, answer: dict[str, Any] | None) -> None:
        super().__init__()
        self._answer = answer

    def script(self, module: str, request: Any, **_: Any) -> Any:
        if module == "discard":
            return self._answer
        assert (module, request["names"]) == ("cleanup", ["gpu_memory_wait"])
        return {"gpu_memory_wait": self._answer}


class Told:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def show(self, event: Event) -> None:
        self.events.append(event)


def job(host: Host, told: Told) -> Job:
    return Job(host, KIMI, Report(told, "gpu7"), Wishes(), command=str)


@pytest.mark.parametrize(
    ("used", "state", "words"),
    [
        (60002, "failed", "waited 5 s for GPU memory; pid 8121 (python3 x, user ml) holds 60,000 MiB"),
        (2, "ok", "waited 5 s for GPU memory"),
        (1500, "ok", "waited 5 s for GPU memory"),  # a little less is for another remedy
    ],
)
def test_memory_that_was_waited_for(used: int, state: str, words: str) -> None:
    told = Told()
    # the facts were read when the run began: they say nothing of the cards now
    found = replace(survey(), fresh=False)
    plan = make_plan("gpu7", KIMI, found, Wishes())
    held = [HOLDER] if used > 10000 else []
    with Host({"seconds": 5.2, "used_mib": {"GPU-3": used}, "holders": held}) as host:
        short = carry_out.clean(job(host, told), plan, WAITING.cleanups)
    assert (told.events[-1].data["state"], told.events[-1].text) == (state, words)
    assert (short is not None) == (state == "failed")
    if short is not None:
        assert "GPU3 has 37,885 of 97,887 MiB free" in short.sentence


def test_on_parts_of_a_card_the_engines_own_word_counts() -> None:
    gpus = Gpus(tuple(replace(card, mig="Enabled") for card in cards().gpus))
    plan = make_plan("gpu7", KIMI, replace(survey(gpus=gpus), fresh=False), Wishes())
    answer = {"seconds": 5.2, "used_mib": {"GPU-3": 60002}, "holders": [HOLDER], "given_back": False}
    with Host(answer) as host:
        read = {"free": "11.9", "total": "94.97", "wanted": "85.47", "util": "0.9"}
        held = carry_out.clean(job(host, Told()), plan, WAITING.cleanups, read)
    assert held is not None
    assert held.sentence.startswith(
        "vLLM found 11.9 of 94.97 GiB free and takes 85.47 GiB, and nothing was given back in 5 s: pid 8121"
    )


def test_where_nvidia_smi_does_not_answer_the_next_launch_tells() -> None:
    with Host(None) as host:
        plan = make_plan("gpu7", KIMI, survey(), Wishes())
        assert carry_out.clean(job(host, Told()), plan, WAITING.cleanups) is None


KEPT = {"path": "/m/a.safetensors", "reason": "it is owned by ml"}


def discard(answer: dict[str, Any]) -> tuple[str, str]:
    """How fetching again what the host answers so begins: state and words."""
    told = Told()
    again = Change(patch=PATCH, why="finding", evidence="", redownloads=("*",))
    with Host(answer) as host:
        try:
            carry_out.discard(job(host, told), survey(), again)
        finally:
            done = told.events[-1]
    return done.data["state"], done.text


def test_what_is_damaged_and_has_to_stay_is_told() -> None:
    words = "a, b damaged; taken away to be fetched again; /m/a.safetensors stays: it is owned by ml"
    assert discard({"discarded": ["a", "b"], "sound": [], "kept": [KEPT]}) == ("ok", words)
    with pytest.raises(CheckpointError) as caught:
        discard({"discarded": [], "sound": [], "kept": [KEPT]})
    assert caught.value.code == "not_ours"
    assert "/m/a.safetensors stays: it is owned by ml" in caught.value.message


def test_nothing_is_fetched_again_that_is_what_the_hub_has() -> None:
    with pytest.raises(CheckpointError) as caught:
        discard({"discarded": [], "sound": ["a"], "kept": []})
    assert caught.value.code == "not_damaged"
