"""Which files in /dev/shm may go."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.engines.vllm.footprint import FOOTPRINT
from orchestrator.on_host.processes.makers import Maker
from orchestrator.on_host.removing import shared_memory
from orchestrator.on_host.removing.shared_memory import Claim, ShmFile


def entry(name: str = "psm_1", *, uid: int = 1000, changed: float = 50.0) -> ShmFile:
    return ShmFile(name, 4096, uid, 26, 7, changed)


UNSEEN = "may be of a process outside this container, which cannot be seen from here"
MAKER = Maker(7, "python3", 20.0, frozenset({"psm_"}))
MAY_BE = "may be of pid 7 (python3), which lives and may attach to it by name"
HELD = frozenset({(26, 7)})


@pytest.mark.parametrize(
    ("one", "claim", "reason"),
    [
        (entry(), Claim(1000, FOOTPRINT, frozenset(), frozenset()), None),
        (entry(), Claim(1000, FOOTPRINT, HELD, frozenset({"psm_1"})), None),
        (entry(), Claim(1000, FOOTPRINT, HELD, frozenset(), makers=(MAKER,)), None),
        (entry(), Claim(1000, FOOTPRINT, frozenset(), frozenset(), makers=(MAKER,)), MAY_BE),
        (entry(), Claim(1000, FOOTPRINT, HELD, frozenset({"psm_1"}), makers=(MAKER,)), MAY_BE),
        (entry(), Claim(1000, FOOTPRINT, HELD, None, makers=(MAKER,)), MAY_BE),
        (
            entry(),
            Claim(1000, FOOTPRINT, frozenset(), frozenset(), None, frozenset({"psm_1"}), (MAKER,)),
            None,
        ),
        (entry(), Claim(1000, FOOTPRINT, frozenset(), frozenset(), unseen=True), UNSEEN),
        (entry(), Claim(1000, FOOTPRINT, HELD, frozenset(), unseen=True), None),
        (
            entry(),
            Claim(1000, FOOTPRINT, frozenset(), frozenset(), None, frozenset({"psm_1"}), unseen=True),
            None,
        ),
        (entry("sem.mp-1"), Claim(1000, FOOTPRINT, frozenset(), frozenset(), makers=(MAKER,)), None),
        (entry(changed=5.0), Claim(1000, FOOTPRINT, frozenset(), frozenset(), makers=(MAKER,)), None),
        (entry(), Claim(1000, FOOTPRINT, HELD, None), None),
        (entry(), Claim(1000, FOOTPRINT, frozenset(), frozenset({"psm_1"})), "older than the launch"),
        (
            entry(),
            Claim(1000, FOOTPRINT, frozenset(), frozenset({"psm_1"}), None, frozenset({"psm_1"})),
            None,
        ),
        (entry(), Claim(1000, FOOTPRINT, frozenset(), None), "may be older than the launch"),
        (entry(), Claim(1000, FOOTPRINT, frozenset(), frozenset(), 60.0), None),
        (
            entry(changed=70.0),
            Claim(1000, FOOTPRINT, frozenset(), frozenset(), 60.0),
            "younger than the launch's end",
        ),
        (entry(changed=70.0), Claim(1000, FOOTPRINT, HELD, frozenset(), 60.0), None),
        (entry(uid=0), Claim(1000, FOOTPRINT, HELD, frozenset()), "owned by root"),
        (entry("model.safetensors"), Claim(1000, FOOTPRINT, HELD, frozenset()), "unknown name"),
        (entry("mine"), Claim(1000, FOOTPRINT, HELD, frozenset(), None, frozenset({"mine"})), "unknown name"),
    ],
)
def test_reason_to_keep(one: ShmFile, claim: Claim, reason: str | None) -> None:
    assert shared_memory.reason_to_keep(one, claim, {}) == reason
    assert shared_memory.reason_to_keep(one, claim, {one.name: [9, 8]}) == "mapped or open by pid 8, 9"


@pytest.mark.parametrize(
    ("pid", "ipc", "unseen"),
    [
        (4026531836, 4026531839, False),
        (4026532836, 4026532839, False),  # a container with a /dev/shm of its own
        (4026532836, 4026531839, True),
    ],
)
def test_a_container_that_shares_the_machines_memory(
    pid: int, ipc: int, unseen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = {"/proc/self/ns/pid": f"pid:[{pid}]", "/proc/self/ns/ipc": f"ipc:[{ipc}]"}
    monkeypatch.setattr(shared_memory.procs, "read_link", links.__getitem__)
    assert shared_memory.shared_with_unseen() is unseen


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("psm_033ef828", True),
        ("sem.mp-ndtq63j1", True),
        ("sem.loky-12-abc", True),
        ("vllm_dist_1f-tp:0-cpushm_0", True),
        ("nccl-Ab12Cd", True),
        ("torch_12_34_0", True),
        ("psm", False),
        ("my_psm_1", False),
        ("PostgreSQL.123", False),
    ],
)
def test_known_names(name: str, known: bool) -> None:
    assert FOOTPRINT.knows(name) is known


def test_holders_map_or_have_open(shm: Path) -> None:
    for name in ("psm_mapped", "psm_open", "psm_idle"):
        (shm / name).write_bytes(b"x" * 4096)
    (shm / "folder").mkdir()
    with (shm / "psm_mapped").open("r+b") as file:
        mapped = mmap.mmap(file.fileno(), 4096)
    with mapped, (shm / "psm_open").open("rb"):
        found = shared_memory.entries()
        held = shared_memory.holders(found, [os.getpid()])
    assert [(one.name, one.bytes, one.uid) for one in found] == [
        (name, 4096, os.getuid()) for name in ("psm_idle", "psm_mapped", "psm_open")
    ]
    assert held == {"psm_mapped": [os.getpid()], "psm_open": [os.getpid()]}


def test_a_file_of_the_same_name_elsewhere_is_no_holding(shm: Path, tmp_path: Path) -> None:
    (shm / "psm_1").touch()
    (tmp_path / "psm_1").touch()
    with (tmp_path / "psm_1").open("rb"):
        assert shared_memory.holders(shared_memory.entries(), [os.getpid()]) == {}


def test_clean_removes_ours_and_nothing_else(shm: Path, bystander: Callable[..., Any]) -> None:
    bystander(workers=1, shm=str(shm))
    (foreign,) = os.listdir(shm)
    for name in ("psm_ours", "psm_older", "weights"):
        (shm / name).write_bytes(b"x" * 10)
    removed, kept = shared_memory.clean(Claim(os.getuid(), FOOTPRINT, frozenset(), frozenset({"psm_older"})))
    assert [(one.name, one.bytes) for one in removed] == [("psm_ours", 10)]
    reasons = {one.name: reason for one, reason in kept}
    assert reasons.pop(foreign).startswith("mapped or open by pid ")
    assert reasons == {"psm_older": "older than the launch", "weights": "unknown name"}
    assert sorted(os.listdir(shm)) == sorted([foreign, "psm_older", "weights"])


def test_a_machine_without_shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_memory, "FOLDER", "/no/such/folder")
    assert shared_memory.clean(Claim(0, FOOTPRINT, frozenset(), frozenset())) == ([], [])
