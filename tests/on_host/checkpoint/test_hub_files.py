from __future__ import annotations

import codecs
import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from orchestrator.on_host.checkpoint import hub_files
from orchestrator.on_host.checkpoint.hub_files import RemoteFile
from orchestrator.on_host.checkpoint.shards import git_blob
from tests.on_host.checkpoint.hub_folder import SHA, partial


def sibling(name: str, **more: object) -> SimpleNamespace:
    return SimpleNamespace(**{"rfilename": name, "size": 1, "blob_id": "b", "lfs": None, **more})


@pytest.mark.parametrize(
    ("ignore", "left"),
    [
        ([], ["config.json", "original/a.bin", "original/b/c.bin"]),
        (["original/*"], ["config.json"]),
        (["original/"], ["config.json"]),
        (["*.bin"], ["config.json"]),
        (["CONFIG.json"], ["config.json", "original/a.bin", "original/b/c.bin"]),
    ],
)
def test_patterns_leave_files_out(ignore: list[str], left: list[str]) -> None:
    listing = [sibling(name) for name in ("config.json", "original/a.bin", "original/b/c.bin")]
    assert [file.name for file in hub_files.wanted(listing, ignore)] == left


@pytest.mark.parametrize("lfs", [{"sha256": SHA}, SimpleNamespace(sha256=SHA)])
def test_lfs_in_both_forms_of_the_library(lfs: object) -> None:
    assert hub_files.wanted([sibling("a", lfs=lfs)], []) == [RemoteFile("a", 1, SHA, "b")]


@pytest.mark.parametrize(
    "name", ["../x", "/etc/passwd", "a/../../x", "a\\..\\..\\x", "", "a\n  next: evil", "a\x9b"]
)
def test_a_name_that_leads_out_of_the_folder_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="not lie in the folder"):
        hub_files.wanted([sibling(name)], [])


def test_what_huggingface_hub_noted_counts_only_for_the_file_it_wrote(tmp_path: Path) -> None:
    file = RemoteFile("a.bin", 1, SHA, None)
    (tmp_path / "a.bin").write_bytes(b"x")
    partial(tmp_path, "a.bin.metadata", 0).write_text(f"commit\n{'d' * 64}\n{time.time()}\n")
    assert hub_files.compare(str(tmp_path), [file], [], {}).fetch == [file]
    os.utime(tmp_path / "a.bin", (time.time() + 60,) * 2)
    assert hub_files.compare(str(tmp_path), [file], [], {}).fetch == []


def test_the_earlier_manifest_tells_another_commits_file(tmp_path: Path) -> None:
    file = RemoteFile("a.bin", 1, SHA, None)
    (tmp_path / "a.bin").write_bytes(b"x")
    assert hub_files.compare(str(tmp_path), [file], [], {"a.bin": {"sha256": "e" * 64, "size": 1}}).fetch == [
        file
    ]
    assert hub_files.compare(str(tmp_path), [file], [], {"a.bin": {"sha256": SHA}}).fetch == []


BLOB = "45b983be36b73c0788dc9cbcb76cbb80fc7bb057"  # git's id of b"hi\n"


def compared(folder: Path, file: RemoteFile, earlier: dict[str, object] | None = None) -> str:
    found = hub_files.compare(str(folder), [file], [], {file.name: earlier} if earlier else {})
    return next(word for word, files in found._asdict().items() if files)


def test_somebodys_own_large_file_is_foreign_and_an_edited_small_one_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"their own")
    (tmp_path / "b.json").write_bytes(b'{"edited": 1}')
    assert compared(tmp_path, RemoteFile("a.bin", 5, SHA, None)) == "foreign"
    assert compared(tmp_path, RemoteFile("b.json", 5, None, "c" * 40)) == "kept"


def test_what_an_earlier_commit_had_is_fetched_anew(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"hi\n")
    (tmp_path / "b.txt").write_bytes(b"hi\n")
    assert compared(tmp_path, RemoteFile("a.bin", 5, SHA, None), {"size": 3, "sha256": "e" * 64}) == "fetch"
    assert compared(tmp_path, RemoteFile("b.txt", 5, None, "c" * 40), {"blob": BLOB}) == "fetch"


def test_what_was_changed_since_it_was_fetched_is_nobody_elses_to_fetch(tmp_path: Path) -> None:
    """Merged weights have the size of those they replace."""
    (tmp_path / "a.bin").write_bytes(b"hi\n")
    partial(tmp_path, "a.bin.metadata", 0).write_text(f"commit\n{'e' * 64}\n{time.time() - 60}\n")
    earlier = {"size": 3, "sha256": "e" * 64}
    assert compared(tmp_path, RemoteFile("a.bin", 5, SHA, None), earlier) == "foreign"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", b'{"cut": '),
        ("a.json", b""),
        ("a.txt", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"),
        ("a.model", b"<!DOCTYPE html><html>"),
        ("a.safetensors", b"\xff" * 20),
    ],
)
def test_what_cannot_be_what_its_name_says_is_fetched(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    assert compared(tmp_path, RemoteFile(name, 5, SHA, "c" * 40)) == "fetch"


@pytest.mark.parametrize(
    "bad", [codecs.BOM_UTF8 + b"{}", "{}".encode("utf-16"), b"{", b""], ids=["bom", "utf-16", "cut", "empty"]
)
def test_what_no_engine_reads_is_fetched_again_unless_it_is_the_repositorys_own(
    tmp_path: Path, bad: bytes
) -> None:
    (tmp_path / "config.json").write_bytes(bad)
    own = RemoteFile("config.json", len(bad), None, git_blob(str(tmp_path / "config.json")))
    other = own._replace(size=2, blob="0" * 40)
    folder = str(tmp_path)
    assert hub_files.compare(folder, [other], (), {}) == ([other], [], [])
    assert hub_files.compare(folder, [own], (), {}) == ([], [], [])
