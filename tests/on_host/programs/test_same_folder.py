"""Whether hosts see one folder, by marks: what is made, seen, and left."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.on_host.programs import same_folder
from tests.programs.requests import read_too

OWN, OTHER = f".deploy-{'a' * 32}", f".deploy-{'b' * 32}"


def asked(folder: Path, monkeypatch: pytest.MonkeyPatch, said: bytes) -> list[dict[str, Any]]:
    """What the program answers whose input is this and then ends."""
    reading, writing = os.pipe()
    os.write(writing, said)
    os.close(writing)
    with open(reading) as controller:
        monkeypatch.setattr(sys, "stdin", controller)
        request = {"folder": str(folder), "mark": OWN, "seconds": 30}
        return list(read_too("same_folder", same_folder.main)(request))


def test_marks_are_seen_and_its_own_is_gone_with_its_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "models" / "tiny"
    said = f'{{"marks": ["{OWN}", "{OTHER}", "../../tiny"]}}\n'.encode()
    assert asked(folder, monkeypatch, said) == [{"marked": True}, {"seen": [OWN]}]
    (folder / OTHER).touch()
    assert asked(folder, monkeypatch, said)[1] == {"seen": [OWN, OTHER]}
    assert [path.name for path in folder.iterdir()] == [OTHER]


def test_a_controller_that_is_gone_leaves_no_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(tmp_path, monkeypatch, b"") == [{"marked": True}]
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_where_it_is_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    assert asked(tmp_path / "file", monkeypatch, b"") == [{"marked": False}]
    monkeypatch.setattr(os, "getuid", lambda: 4711)
    assert asked(tmp_path, monkeypatch, b"") == [{"marked": False}]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_mark_is_no_path(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is no mark"):
        next(same_folder.main({"folder": str(tmp_path), "mark": "../x", "seconds": 1}))
