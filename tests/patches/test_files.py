"""Which files of a folder are patches."""

from __future__ import annotations

from pathlib import Path

from orchestrator.patches.files import files_of


def test_folders_in_a_folder_are_searched_too(tmp_path: Path) -> None:
    names = ["z.yaml", "a.yaml", "a/c.yaml", "a/deep/er/b.yaml", "b/a.yaml"]
    for name in [*names, "notes.md", ".git/x.yaml", "a/.hidden/y.yaml", "b/yaml"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "again").symlink_to(tmp_path)
    (tmp_path / "b" / "folder.yaml").mkdir()
    found = [str(path.relative_to(tmp_path)) for path in files_of(tmp_path)]
    assert found == ["a.yaml", "z.yaml", "a/c.yaml", "a/deep/er/b.yaml", "b/a.yaml", "b/folder.yaml"]


def test_a_folder_that_is_none_holds_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert files_of(tmp_path / "file") == files_of(tmp_path / "missing") == []
