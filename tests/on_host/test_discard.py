"""A file that the engine cannot read is taken away only where its content is not upstream's."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from orchestrator.on_host import discard
from orchestrator.on_host.refusal import Refusal

GOOD = b"tensors" * 100


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = tmp_path / "model"
    made.mkdir()
    for name, content in {"sound": GOOD, "flipped": GOOD[:-1] + b"!", "cut": GOOD[:50], "own": b"x"}.items():
        (made / f"{name}.safetensors").write_bytes(content)
    return made


def run(folder: Path, *names: str, **more: Any) -> dict[str, Any]:
    known = {"size": len(GOOD), "sha256": hashlib.sha256(GOOD).hexdigest()}
    unknown = {"size": None, "sha256": None}
    files = {f"{name}.safetensors": unknown if name == "own" else known for name in names}
    return discard.main({"playbook": "p", "folder": str(folder), "files": files, **more})


def test_damaged_files_go_and_sound_ones_stay(folder: Path) -> None:
    done = run(folder, "sound", "flipped", "cut", "gone")
    assert done == {"discarded": ["cut.safetensors", "flipped.safetensors"], "sound": ["sound.safetensors"]}
    assert sorted(path.name for path in folder.iterdir()) == ["own.safetensors", "sound.safetensors"]


def test_a_file_that_nothing_is_known_of_stays(folder: Path) -> None:
    assert run(folder, "own") == {"discarded": [], "sound": []}
    assert (folder / "own.safetensors").exists()


def test_in_a_cache_the_damaged_blob_goes_with_its_link(folder: Path, tmp_path: Path) -> None:
    blob = tmp_path / "blobs" / "abc"
    blob.parent.mkdir()
    blob.write_bytes(b"damaged")
    (folder / "linked.safetensors").symlink_to(blob)
    assert run(folder, "linked")["discarded"] == ["linked.safetensors"]
    assert not blob.exists()
    assert not (folder / "linked.safetensors").is_symlink()


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
