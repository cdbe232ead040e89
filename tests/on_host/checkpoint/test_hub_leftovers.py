"""What earlier downloads left: what is continued, what is swept, what stays."""

from __future__ import annotations

import fcntl
from pathlib import Path

from orchestrator.on_host.checkpoint import hub_leftovers
from orchestrator.on_host.checkpoint.hub_files import RemoteFile
from tests.on_host.checkpoint.hub_folder import SHA, partial


def test_partial_files_of_both_kinds_are_found_by_etag(tmp_path: Path) -> None:
    old = partial(tmp_path, f"HASH=.{SHA}.incomplete", 5)
    new = partial(tmp_path, f"sub/HASH=.{SHA}.1234abcd.incomplete", 7)
    partial(tmp_path, "config.json.metadata", 3)
    paths = hub_leftovers.partials(str(tmp_path))
    assert {key: sorted(listed) for key, listed in paths.items()} == {SHA: sorted([str(old), str(new)])}
    assert (hub_leftovers.continued(str(old)), hub_leftovers.continued(str(new))) == (True, False)


def test_only_silent_orphans_of_this_checkpoint_are_swept(tmp_path: Path) -> None:
    orphan = partial(tmp_path, f"H.{SHA}.11111111.incomplete", 1, age=600)
    kept = [
        partial(tmp_path, f"H.{SHA}.22222222.incomplete", 1),  # somebody may be writing it
        partial(tmp_path, f"H.{SHA}.incomplete", 1, age=600),  # a later run continues it
        partial(tmp_path, f"H.{'c' * 64}.33333333.incomplete", 1, age=600),  # of another file
    ]
    hub_leftovers.sweep(str(tmp_path), [RemoteFile("a", 1, SHA, None)])
    assert not orphan.exists()
    assert all(path.exists() for path in kept)


def test_clearing_spares_small_files_until_their_successor_is_there(tmp_path: Path) -> None:
    for name in ("config.json", "a.bin"):
        (tmp_path / name).write_bytes(b"x" * 10)
        partial(tmp_path, f"{name}.metadata", 1)
    files = [RemoteFile("config.json", 1, None, "b"), RemoteFile("a.bin", 1, SHA, "b")]
    assert hub_leftovers.reclaimable(str(tmp_path), files) == 10
    hub_leftovers.clear(str(tmp_path), files)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["config.json"]


def silent(folder: Path) -> Path:
    return partial(folder, f"H.{SHA}.11111111.incomplete", 1, age=600)


def test_what_another_download_holds_is_not_swept(tmp_path: Path) -> None:
    """It holds the file's lock, though nothing arrived for minutes; or has the file open, on a host without locks."""
    orphan = silent(tmp_path)
    lock = partial(tmp_path, "a.lock", 0)
    with lock.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        hub_leftovers.sweep(str(tmp_path), [RemoteFile("a", 1, SHA, None)])
        assert orphan.exists()
    with orphan.open("rb"):
        hub_leftovers.sweep(str(tmp_path), [RemoteFile("a", 1, SHA, None)])
        assert orphan.exists()
    hub_leftovers.sweep(str(tmp_path), [RemoteFile("a", 1, SHA, None)])
    assert not orphan.exists()


def test_partial_files_behind_a_link_are_not_swept(tmp_path: Path) -> None:
    """Two checkpoints whose `.cache` is one folder elsewhere."""
    orphan = silent(tmp_path / "elsewhere")
    model = tmp_path / "model"
    model.mkdir()
    (model / ".cache").symlink_to(tmp_path / "elsewhere/.cache")
    hub_leftovers.sweep(str(model), [RemoteFile("a", 1, SHA, None)])
    assert orphan.exists()


def test_what_stands_in_the_way_and_is_not_ours_to_remove_is_told(tmp_path: Path) -> None:
    file = RemoteFile("sub/a.bin", 1, SHA, None)
    model, other = tmp_path / "model", tmp_path / "other"
    for folder in (model, other):
        folder.mkdir()
    (other / "a.bin").write_bytes(b"x")
    (model / "sub").symlink_to(other)
    assert hub_leftovers.clear(str(model), [file]) == [
        f"{model}/sub/a.bin: it is reached through the link {model}/sub"
    ]
    (model / "sub").unlink()
    (model / "sub").mkdir()
    (model / "sub/a.bin").symlink_to(other / "a.bin")
    assert hub_leftovers.clear(str(model), [file]) == []
    assert not (model / "sub/a.bin").is_symlink()
    assert (other / "a.bin").exists()


def test_an_engine_keeps_the_files_that_it_reads(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"x")
    with (tmp_path / "a.bin").open("rb"):
        (kept,) = hub_leftovers.clear(str(tmp_path), [RemoteFile("a.bin", 5, SHA, None)])
    assert "a running process uses it" in kept
    assert (tmp_path / "a.bin").exists()
