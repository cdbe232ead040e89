"""A file is exchanged as a whole, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.on_host.files.exchanged import exchanged


def test_a_reader_sees_the_old_one_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    with exchanged(path, prefix=".a") as file:
        file.write(b"new")
        assert path.read_text() == "old"
        assert [other.name[:2] for other in tmp_path.iterdir() if other != path] == [".a"]
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_what_was_ended_in_the_middle_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), exchanged(path, prefix=".a") as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
