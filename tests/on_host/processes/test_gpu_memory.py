"""GPU memory: read, and waited for until it is back. `nvidia-smi` is a script that these tests write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from orchestrator.on_host.processes import gpu_memory, procs
from orchestrator.on_host.processes.gpu_memory import App

A, B = "GPU-aaaa", "GPU-bbbb"


def test_parse() -> None:
    assert gpu_memory.parse_used(f"{A}, 45154\n{B}, [N/A]\n\n") == {A: 45154}
    assert gpu_memory.parse_apps(
        f"812, {A}, 45150, VLLM::Worker, TP0\n[N/A], {B}, 1, x\n813, {B}, [N/A], [Not Found]\n"
    ) == [
        App(812, A, 45150, "VLLM::Worker, TP0"),
        App(813, B, None, "[Not Found]"),
    ]
    assert gpu_memory.parse_used("") == {}
    assert gpu_memory.parse_apps("No running processes found\n") == []


@pytest.mark.parametrize(
    ("now", "before", "apps", "held"),
    [
        ({A: 4, B: 4}, {A: 4, B: 4}, [], {}),
        ({A: 400}, {A: 4}, [], {}),
        ({A: 45154}, {A: 4}, [], {A: 45150}),
        ({A: 45154}, None, [], {}),
        ({A: 4}, {A: 4}, [(7, A)], {A: 0}),
        ({A: 45154}, {A: 4}, [(9, A)], {}),
        ({A: 45154}, {A: 4}, [(7, A), (9, A)], {A: 0}),
        ({A: 45154, B: 800}, {A: 4, B: 4}, [(9, A)], {B: 796}),
        ({}, {}, [], {}),
    ],
)
def test_unreturned(
    now: dict[str, int], before: dict[str, int] | None, apps: list[tuple[int, str]], held: dict[str, int]
) -> None:
    computing = [App(pid, uuid, None, "python3") for pid, uuid in apps]
    assert gpu_memory.unreturned(now, before, computing, {7}) == held


@pytest.mark.parametrize(
    ("now", "earlier", "back"),
    [
        ({A: 20002}, [{A: 20002}, {A: 20002}], False),
        ({A: 20002, B: 4}, [{A: 20002, B: 20002}, {}], True),
        ({A: 20002}, [{A: 20002}, {A: 60000}], True),  # an orphan was ended before anybody waited
        ({A: 20002}, [{A: 20002}, {A: 4}], False),  # it came after the launch had begun
        ({A: 19600}, [{A: 20002}], False),
        ({}, [{A: 20002}], None),
        ({A: 4}, [{B: 4}, {}], None),
    ],
)
def test_given_back(now: dict[str, int], earlier: list[dict[str, int]], back: bool | None) -> None:
    assert gpu_memory.given_back(now, *earlier) is back


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Answers 45154 MiB and pid 7 until it was asked `calls` times, then 4 MiB and nobody."""
    program = tmp_path / "nvidia-smi"
    program.write_text(
        f"""#!/bin/sh
echo "$1" >>{tmp_path}/asked
n=$(wc -l <{tmp_path}/asked)
limit=$(cat {tmp_path}/calls)
case $1 in
  --query-gpu=uuid,memory.used) [ "$n" -gt "$limit" ] && echo "{A}, 4" || echo "{A}, 45154";;
  --query-compute-apps=pid,*) [ "$n" -gt "$limit" ] || echo "7, {A}, 45000, VLLM::EngineCore";;
  *) exit 9;;
esac
"""
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path / "calls"


def test_wait_ends_when_memory_is_back(smi: Path) -> None:
    smi.write_text("2")
    answer = gpu_memory.wait({7}, {A: 4}, 30)
    assert answer is not None
    assert answer["returned"] is True
    assert answer["used_mib"] == {A: 4}
    assert answer["note"] is None
    assert 0.4 < answer["seconds"] < 10


def test_wait_ends_with_a_note_when_it_is_not(smi: Path) -> None:
    smi.write_text("1000")
    answer = gpu_memory.wait({7}, {A: 4}, 0.1)
    assert answer is not None
    assert answer["returned"] is False
    assert answer["held_mib"] == {A: 45150}
    assert "GPU-aaaa 45150 MiB" in answer["note"]


@pytest.mark.parametrize(
    ("apps", "held"),
    [
        (
            f"7, {A}, 40000, x\n7, {B}, 41000, x\n8, {B}, [N/A], x",
            {"processes": {7: 81000, 8: 0}, "cards": {A: 40000, B: 41000}},
        ),
        (f"7, {A}, [N/A], x", {"processes": {7: 0}, "cards": {A: 45150}}),
        (f"9, {A}, 45000, x", {"processes": {}, "cards": {}}),
        ("", {"processes": {}, "cards": {A: 45150}}),
    ],
)
def test_what_is_held(apps: str, held: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_memory, "used", lambda: {A: 45154, B: 4})
    monkeypatch.setattr(gpu_memory, "apps", lambda: gpu_memory.parse_apps(apps))
    assert gpu_memory.held([7, 8], {A: 4, B: 4}) == held


def test_a_number_of_another_namespace_names_nobody_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside a container the driver tells the host's pids: the process of that number here is another one."""
    own = procs.command(os.getpid()).split()[0]
    told = [App(os.getpid(), A, 40000, own), App(os.getpid(), B, 40000, "/opt/sglang/bin/python9")]
    monkeypatch.setattr(gpu_memory, "apps", lambda: told)
    ours, other = gpu_memory.holders()
    assert (ours["user"], ours["memory_mib"]) == (procs.owner(os.getpid()), 40000)
    assert (other["pid"], other["user"], other["command"]) == (os.getpid(), None, None)


def test_no_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpu_memory.used() is None
    assert gpu_memory.wait({7}, None, 30) is None


@pytest.mark.parametrize("body", ["exit 9", "sleep 20"])
def test_a_driver_that_fails_or_hangs_is_no_answer(
    body: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\nexec {body}\n" if "sleep" in body else f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert gpu_memory.used(timeout=0.2) is None
