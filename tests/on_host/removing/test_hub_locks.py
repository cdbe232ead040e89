"""Which lock files of the Hub client somebody holds."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from orchestrator.on_host.removing import hub_locks

HERE = "this-machine"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", None),
        ("\n", None),
        (f"{2**22 + 1}\n{HERE}\n4993\n", None),
        (f"1\n{HERE}\n4993\n", "pid 1 holds it"),
        (f"{2**22 + 1}\nanother-machine\n", f"pid {2**22 + 1} on another-machine may hold it"),
        ("somebody's notes", "it is not empty, so being there may be the lock"),
    ],
)
def test_a_lock_that_is_one_by_being_there(content: str, reason: str | None) -> None:
    assert hub_locks.soft_holder(content, HERE) == reason


def test_a_lock_is_held_while_it_is_tried(tmp_path: Path) -> None:
    (tmp_path / "a.lock").touch()
    with hub_locks.tried(str(tmp_path), "a.lock") as reason:
        assert reason is None
        with hub_locks.tried(str(tmp_path), "a.lock") as second:
            assert second == "a running process holds it"


def test_where_the_file_system_knows_no_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    (tmp_path / "a.lock").touch()
    monkeypatch.setattr(fcntl, "flock", refuse)
    with hub_locks.tried(str(tmp_path), "a.lock") as reason:
        assert reason == "nobody can tell whether it is held: Operation not supported"


def test_a_link_and_a_pipe_are_not_opened(tmp_path: Path) -> None:
    (tmp_path / "real.lock").touch()
    (tmp_path / "link.lock").symlink_to("real.lock")
    os.mkfifo(tmp_path / "pipe.lock")
    assert list(hub_locks.lock_files(str(tmp_path.parent), tmp_path.name).values()) == [
        f"{tmp_path.name}/real.lock"
    ]
    for name in ("link.lock", "pipe.lock", "none.lock"):
        with hub_locks.tried(str(tmp_path), name) as reason:
            assert reason
