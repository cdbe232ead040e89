"""Whom the kernel killed for want of memory: its counters in both versions of control groups, and its log."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.on_host.processes import oom

KERNEL = """\
[   10.000000] Out of memory: Killed process 99 (old) total-vm:1kB
[   99.900000] python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
[  100.500000] Memory cgroup out of memory: Killed process 812 (VLLM::Worker_TP) total-vm:9kB, anon-rss:8kB, UID:0
[  101.250000] gpu7 kernel: Out of memory: Kill process 813 (python (3)) score 900 or sacrifice child
Out of memory: Killed process 814, UID 1000, (ray) total-vm:1kB
[  102.000000] nvidia-modeset: Loading
"""


def test_the_kernels_log() -> None:
    found = oom.kills(KERNEL.splitlines())
    assert [(kill["pid"], kill["name"]) for kill in found] == [
        (99, "old"),
        (812, "VLLM::Worker_TP"),
        (813, "python (3"),
        (814, "ray"),
    ]
    assert found[1]["text"].startswith("Memory cgroup out of memory: Killed process 812")
    assert oom.kills([]) == []


def test_the_kernels_log_says_whose_limit_was_reached() -> None:
    limit = "[  100.4] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,oom_memcg=/docker/ab,task_memcg=/docker/ab,task=python3,pid=812,uid=0\n"
    full = "[  100.4] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=x,mems_allowed=0,global_oom,task_memcg=/user,task=python3,pid=813,uid=0\n"
    assert [kill["group"] for kill in oom.kills((limit + full + KERNEL.split("(old)")[1]).splitlines())] == [
        "/docker/ab",
        None,
        None,
    ]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A /proc and a /sys/fs/cgroup of the test's own, with a machine that killed three processes so far."""
    monkeypatch.setattr(oom, "PROC", tmp_path / "proc")
    monkeypatch.setattr(oom, "CGROUPS", tmp_path / "cgroup")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/vmstat").write_text("nr_free_pages 1\noom_kill 3\n")
    return tmp_path


@pytest.mark.parametrize(
    ("told", "file"),
    [
        (
            "0::/user.slice/user-1000.slice/session-5.scope\n",
            "user.slice/user-1000.slice/session-5.scope/memory.events",
        ),
        ("0::/\n", "memory.events"),
        ("5:cpu,memory:/docker/abc\n0::/docker/abc\n", "memory/docker/abc/memory.oom_control"),
        ("5:cpu:/docker/abc\n4:memory:/\n", "memory/memory.oom_control"),
    ],
)
def test_the_counter_of_the_own_group(machine: Path, told: str, file: str) -> None:
    (machine / "proc/self/cgroup").write_text(told)
    counter = machine / "cgroup" / file
    counter.parent.mkdir(parents=True)
    counter.write_text("low 0\noom 4\noom_kill 1\noom_group_kill 0\n")
    before = oom.counts()
    assert before == {"group": {"path": str(counter), "kills": 1, "limits": 4}, "machine": 3}
    counter.write_text("oom 4\noom_kill 3\n")
    limit = counter.with_name("memory.max")
    limit.write_text("68719476736\n")
    assert oom.since(before) == {"group": 2, "machine": 0, "limit": None}  # the machine's memory ran out
    counter.write_text("oom 6\noom_kill 3\n")
    assert oom.since(before) == {"group": 2, "machine": 0, "limit": 64 << 30}
    limit.write_text("max\n")  # that of a group above it
    assert oom.since(before) == {"group": 2, "machine": 0, "limit": None}
    counter.unlink()
    assert oom.since(before) == {"group": None, "machine": 0, "limit": None}


def test_where_nobody_counts(machine: Path) -> None:
    (machine / "proc/vmstat").unlink()
    before = oom.counts()
    assert before == {"group": None, "machine": None}
    assert oom.since(before) == oom.since(None) == {"group": None, "machine": None, "limit": None}
