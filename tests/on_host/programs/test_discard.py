"""A file that the engine cannot read is taken away only where its content is not upstream's, and only itself."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import Any

import pytest

from orchestrator.on_host.programs import discard
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.state import state
from orchestrator.rehearsal import shard_file

GOOD = b"tensors" * 100
SHA256 = hashlib.sha256(GOOD).hexdigest()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = tmp_path / "model"
    made.mkdir()
    for name, content in {"sound": GOOD, "flipped": GOOD[:-1] + b"!", "cut": GOOD[:50], "own": b"x"}.items():
        (made / f"{name}.safetensors").write_bytes(content)
    return made


def run(folder: Path, *names: str, **more: Any) -> dict[str, Any]:
    known = {"size": len(GOOD), "sha256": SHA256}
    unknown = {"size": None, "sha256": None}
    files = {f"{name}.safetensors": unknown if name == "own" else known for name in names}
    return discard.main({"instance": "p", "folder": str(folder), "files": files, **more})


class Cache:
    """A repository in a Hugging Face cache: damaged blobs by name, and snapshots that link to them."""

    def __init__(self, root: Path) -> None:
        self.repository = root / "models--org--name"
        self.blobs = self.repository / "blobs"
        self.blobs.mkdir(parents=True)

    def blob(self, name: str = SHA256) -> Path:
        path = self.blobs / name
        path.write_bytes(b"damaged")
        return path

    def link(self, revision: str, blob: str = SHA256, name: str = "a.safetensors") -> Path:
        path = self.repository / "snapshots" / revision / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(os.path.join("../" * (2 + name.count("/")) + "blobs", blob))
        return path


@pytest.fixture
def cache(tmp_path: Path, folder: Path) -> Cache:
    return Cache(tmp_path / "hub")


def test_damaged_files_go_and_sound_ones_stay(folder: Path) -> None:
    done = run(folder, "sound", "flipped", "cut", "gone")
    assert done["discarded"] == ["cut.safetensors", "flipped.safetensors"]
    assert (done["sound"], done["kept"]) == (["sound.safetensors"], [])
    assert sorted(path.name for path in folder.iterdir()) == ["own.safetensors", "sound.safetensors"]


def test_a_file_that_nothing_is_known_of_stays(folder: Path) -> None:
    assert run(folder, "own") == {"discarded": [], "sound": [], "kept": []}
    assert (folder / "own.safetensors").exists()


def test_in_a_cache_the_damaged_blob_goes_with_its_link(cache: Cache) -> None:
    blob, link = cache.blob(), cache.link("r1")
    assert run(link.parent, "a") == {"discarded": ["a.safetensors"], "sound": [], "kept": []}
    assert not blob.exists()
    assert not link.is_symlink()


def test_in_a_folder_of_a_snapshot_too(cache: Cache) -> None:
    blob, link = cache.blob(), cache.link("r1", name="sub/a.safetensors")
    assert run(link.parents[1], "sub/a")["discarded"] == ["sub/a.safetensors"]
    assert not blob.exists()


def kept(cache: Cache, link: Path) -> str:
    """Why the blob stays when the link goes."""
    done = run(link.parent, link.stem)
    assert done["discarded"] == [link.name]
    assert not link.is_symlink()
    (one,) = done["kept"]
    assert Path(one["path"]).read_bytes() == b"damaged"
    return str(one["reason"])


def test_a_blob_that_another_snapshot_links_to_stays(cache: Cache) -> None:
    cache.blob()
    other = cache.link("r2")
    assert kept(cache, cache.link("r1")) == f"{other} leads to it as well"


def test_a_blob_with_a_hard_link_stays(cache: Cache, tmp_path: Path) -> None:
    os.link(cache.blob(), tmp_path / "saved")
    assert kept(cache, cache.link("r1")) == "a hard link leads to it as well"


def test_a_blob_that_a_process_has_open_stays(cache: Cache) -> None:
    with cache.blob().open("rb"):
        assert "a running process uses it: pid" in kept(cache, cache.link("r1"))


def test_a_blob_of_another_hash_stays(cache: Cache) -> None:
    cache.blob("b" * 64)
    assert "is not this file's blob" in kept(cache, cache.link("r1", "b" * 64))


def test_a_blob_of_somebody_else_stays(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    blob, link = cache.blob(), cache.link("r1")
    real = os.lstat

    def of_another(path: Any, **more: Any) -> os.stat_result:
        status = list(real(path, **more))
        status[4] += os.path.basename(path) == blob.name
        return os.stat_result(status)

    monkeypatch.setattr(os, "lstat", of_another)
    assert kept(cache, link).startswith("it is owned by ")


def test_blobs_that_are_a_link_to_a_store_are_not_followed(cache: Cache, tmp_path: Path) -> None:
    cache.blob()
    cache.blobs.rename(tmp_path / "store")
    cache.blobs.symlink_to(tmp_path / "store")
    assert "is not this file's blob" in kept(cache, cache.link("r1"))


@pytest.mark.parametrize("target", ["elsewhere/a.bin", "blobs/abc", "hub/models--org--name/blobs/" + SHA256])
def test_what_a_link_leads_to_elsewhere_stays(folder: Path, tmp_path: Path, target: str) -> None:
    """Somebody's file, a folder that only looks like a cache, the cache of another folder."""
    there = tmp_path / target
    there.parent.mkdir(parents=True)
    there.write_bytes(b"damaged")
    (folder / "linked.safetensors").symlink_to(there)
    done = run(folder, "linked")
    assert done["discarded"] == ["linked.safetensors"]
    assert [one["path"] for one in done["kept"]] == [str(there)]
    assert there.read_bytes() == b"damaged"
    assert not (folder / "linked.safetensors").is_symlink()
    (record,) = state.records(tmp_path / "state/deploy/p")
    assert record["links"] == {"linked.safetensors": str(there)}


def test_a_folder_that_is_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/a.safetensors").write_bytes(b"damaged")
    (folder / "sub").symlink_to(tmp_path / "other")
    done = run(folder, "sub/a")
    assert (done["discarded"], done["kept"][0]["reason"]) == (
        [],
        f"it is reached through the link {folder / 'sub'}",
    )
    assert (tmp_path / "other/a.safetensors").exists()


def test_a_name_that_leads_out_is_passed_over(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(b"damaged")
    assert run(folder, "../a")["discarded"] == []
    assert (tmp_path / "a.safetensors").exists()


def test_a_name_that_no_file_can_have_is_passed_over(folder: Path) -> None:
    known = {"size": 1, "sha256": "0" * 64}
    answer = discard.main(
        {"instance": "p", "folder": str(folder), "files": {"x" * 300: known, "a\0b": known}}
    )
    assert (answer["discarded"], answer["kept"]) == ([], [])


def test_a_file_that_a_process_reads_stays(folder: Path) -> None:
    with (folder / "cut.safetensors").open("rb"):
        done = run(folder, "cut")
    assert done["discarded"] == []
    assert "a running process uses it" in done["kept"][0]["reason"]


def whole(path: Path) -> Path:
    shard_file.write_shard(path, {"a": ("U8", (4, 4))}, lambda _, size: bytes(size))
    return path


def test_whole_weights_that_somebody_put_there_stay(folder: Path) -> None:
    path = whole(folder / "merged.safetensors")
    done = run(folder, "merged")
    assert (done["discarded"], [one["path"] for one in done["kept"]]) == ([], [str(path)])
    assert "may be somebody's work" in done["kept"][0]["reason"]


def test_whole_weights_that_rotted_since_they_were_fetched_go(folder: Path) -> None:
    whole(folder / "rotten.safetensors")
    note = folder / ".cache/huggingface/download/rotten.safetensors.metadata"
    note.parent.mkdir(parents=True)
    note.write_text(f"commit\n{SHA256}\n{time.time()}\n")
    assert run(folder, "rotten")["discarded"] == ["rotten.safetensors"]


def test_somebody_elses_folder_is_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discard.os, "getuid", lambda: folder.stat().st_uid + 1)
    with pytest.raises(Refusal) as caught:
        run(folder, "cut")
    assert caught.value.code == "foreign_folder"
    assert (folder / "cut.safetensors").exists()
    assert run(folder, "cut", foreign_folder=True)["discarded"] == ["cut.safetensors"]


def test_no_folder(folder: Path) -> None:
    with pytest.raises(Refusal):
        run(folder / "none", "cut")
