"""Shared memory of one home's engines is told from everybody else's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.rehearsal import shm_files


@pytest.fixture
def made(tmp_path: Path) -> Iterator[list[Path]]:
    """Files as an engine makes them, of this home, of one whose path goes on, and of nobody."""
    names = [Path(shm_files.FOLDER, f"psm_{os.getpid()}_{number}") for number in range(3)]
    for name, begins in zip(names, (tmp_path, f"{tmp_path}2", ""), strict=True):
        name.write_bytes(os.fsencode(begins))
        os.truncate(name, 4096)
    yield names
    for name in names:
        name.unlink(missing_ok=True)


def test_those_of_a_home_go_and_no_others(made: list[Path], tmp_path: Path) -> None:
    assert shm_files.of_home(tmp_path) == made[:1]
    shm_files.remove(tmp_path)
    assert [path.exists() for path in made] == [False, True, True]


def test_links_and_pipes_are_nobodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shm_files, "FOLDER", str(tmp_path))
    (tmp_path / "psm_1").write_bytes(os.fsencode(tmp_path) + b"\0")
    (tmp_path / "psm_2").symlink_to("psm_1")
    os.mkfifo(tmp_path / "psm_3")
    assert shm_files.of_home(tmp_path) == [tmp_path / "psm_1"]
