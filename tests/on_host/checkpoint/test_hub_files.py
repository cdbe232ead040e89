from __future__ import annotations

import codecs
import fcntl
import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from orchestrator.on_host.checkpoint import hub_files
from orchestrator.on_host.checkpoint.hub_files import RemoteFile
from orchestrator.on_host.checkpoint.shards import git_blob

SHA = "a" * 64


def sibling(name: str, **more: object) -> SimpleNamespace:
    return SimpleNamespace(**{"rfilename": name, "size": 1, "blob_id": "b", "lfs": None, **more})


def partial(folder: Path, name: str, size: int, age: float = 0.0) -> Path:
    path = folder / ".cache" / "huggingface" / "download" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    os.utime(path, (time.time() - age,) * 2)
    return path


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


def test_partial_files_of_both_kinds_are_found_by_etag(tmp_path: Path) -> None:
    old = partial(tmp_path, f"HASH=.{SHA}.incomplete", 5)
    new = partial(tmp_path, f"sub/HASH=.{SHA}.1234abcd.incomplete", 7)
    partial(tmp_path, "config.json.metadata", 3)
    found = hub_files.partials(str(tmp_path))
    assert {key: sorted(paths) for key, paths in found.items()} == {SHA: sorted([str(old), str(new)])}
    assert (hub_files.continued(str(old)), hub_files.continued(str(new))) == (True, False)


def test_only_silent_orphans_of_this_checkpoint_are_swept(tmp_path: Path) -> None:
    orphan = partial(tmp_path, f"H.{SHA}.11111111.incomplete", 1, age=600)
    kept = [
        partial(tmp_path, f"H.{SHA}.22222222.incomplete", 1),  # somebody may be writing it
        partial(tmp_path, f"H.{SHA}.incomplete", 1, age=600),  # a later run continues it
        partial(tmp_path, f"H.{'c' * 64}.33333333.incomplete", 1, age=600),  # of another file
    ]
    hub_files.sweep(str(tmp_path), [RemoteFile("a", 1, SHA, None)])
    assert not orphan.exists()
    assert all(path.exists() for path in kept)


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


def test_clearing_spares_small_files_until_their_successor_is_there(tmp_path: Path) -> None:
    for name in ("config.json", "a.bin"):
        (tmp_path / name).write_bytes(b"x" * 10)
        partial(tmp_path, f"{name}.metadata", 1)
    files = [RemoteFile("config.json", 1, None, "b"), RemoteFile("a.bin", 1, SHA, "b")]
    assert hub_files.reclaimable(str(tmp_path), files) == 10
    hub_files.clear(str(tmp_path), files)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["config.json"]


def silent(folder: Path) -> Path:
    return partial(folder, f"H.{SHA}.11111111.incomplete", 1, age=600)


def test_what_another_download_holds_is_not_swept(tmp_path: Path) -> None:
    """It holds the file's lock, though nothing arrived for minutes; or has the file open, on a host without locks."""
    orphan = silent(tmp_path)
    lock = partial(tmp_path, "a.lock", 0)
    with lock.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        hub_files.sweep(str(tmp_path), [RemoteFile("a", 1, SHA, None)])
        assert orphan.exists()
    with orphan.open("rb"):
        hub_files.sweep(str(tmp_path), [RemoteFile("a", 1, SHA, None)])
        assert orphan.exists()
    hub_files.sweep(str(tmp_path), [RemoteFile("a", 1, SHA, None)])
    assert not orphan.exists()


def test_partial_files_behind_a_link_are_not_swept(tmp_path: Path) -> None:
    """Two checkpoints whose `.cache` is one folder elsewhere."""
    orphan = silent(tmp_path / "elsewhere")
    model = tmp_path / "model"
    model.mkdir()
    (model / ".cache").symlink_to(tmp_path / "elsewhere/.cache")
    hub_files.sweep(str(model), [RemoteFile("a", 1, SHA, None)])
    assert orphan.exists()


def test_what_stands_in_the_way_and_is_not_ours_to_remove_is_told(tmp_path: Path) -> None:
    file = RemoteFile("sub/a.bin", 1, SHA, None)
    model, other = tmp_path / "model", tmp_path / "other"
    for folder in (model, other):
        folder.mkdir()
    (other / "a.bin").write_bytes(b"x")
    (model / "sub").symlink_to(other)
    assert hub_files.clear(str(model), [file]) == [
        f"{model}/sub/a.bin: it is reached through the link {model}/sub"
    ]
    (model / "sub").unlink()
    (model / "sub").mkdir()
    (model / "sub/a.bin").symlink_to(other / "a.bin")
    assert hub_files.clear(str(model), [file]) == []
    assert not (model / "sub/a.bin").is_symlink()
    assert (other / "a.bin").exists()


def test_an_engine_keeps_the_files_that_it_reads(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"x")
    with (tmp_path / "a.bin").open("rb"):
        (kept,) = hub_files.clear(str(tmp_path), [RemoteFile("a.bin", 5, SHA, None)])
    assert "a running process uses it" in kept
    assert (tmp_path / "a.bin").exists()


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
