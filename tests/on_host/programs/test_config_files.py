"""Config files exchanged on the host: atomic, backed up, put back to the byte."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from orchestrator.on_host.kinds import launches
from orchestrator.on_host.programs import config_files
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.state import state

ORIGINAL = b'{"kv_cache_scheme": {"num_bits": 8},\r\n "x": 1}'
PATCHED = b'{"x": 1}'


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "config.json").write_bytes(ORIGINAL)
    return folder


def apply(folder: Path, **more: Any) -> dict[str, Any]:
    file = {"name": "config.json", "expect": sha(ORIGINAL), "content": base64.b64encode(PATCHED).decode()}
    request = {"instance": "p", "folder": str(folder), "action": "apply", "patch": "fp8", "files": [file]}
    return config_files.main({**request, **more})


def restore(folder: Path, record: dict[str, Any], *, shared_checkpoint: bool = False) -> dict[str, Any]:
    return config_files.main(
        {
            "instance": "p",
            "folder": str(folder),
            "action": "restore",
            "patch": "fp8",
            "files": record["files"],
            "shared_checkpoint": shared_checkpoint,
        }
    )


def launched(instance: str, folder: Path) -> None:
    """A launch on record that was started from the folder."""
    launch = state.state_folder(instance) / "launches" / "1"
    launch.mkdir(parents=True)
    state.append(state.state_folder(instance), {"action": "launch", "launch": 1})
    (launch / "command.json").write_text(json.dumps({"argv": ["engine", "serve", str(folder)], "note": {}}))
    process = {"machine": state.machine_id(), "marker": f"marker-of-{instance}", "boot_id": state.boot_id()}
    (launch / "process.json").write_text(json.dumps(process))


def test_no_patch_is_taken_from_under_another_launch_that_lives(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = apply(folder)["record"]
    link = folder.parent / "link"
    link.symlink_to(folder)
    for instance, place in (("p", folder), ("q", link), ("other", folder.parent), ("dead", folder)):
        launched(instance, place)
    monkeypatch.setattr(
        launches, "members", lambda launch, at: [] if "dead" in str(launch.folder) else [object()]
    )
    with pytest.raises(Refusal) as refused:
        restore(folder, record)
    assert refused.value.code == "shared_checkpoint"
    assert str(refused.value).startswith(f"q also serves from {folder}")
    assert (folder / "config.json").read_bytes() == PATCHED
    assert restore(folder, record, shared_checkpoint=True)["files"][0]["done"] == "restored"


def test_apply_keeps_mode_and_time_and_restore_gives_the_original_bytes_back(folder: Path) -> None:
    path = folder / "config.json"
    path.chmod(0o640)
    os.utime(path, ns=(1_000_000_000, 2_000_000_000))
    record = apply(folder)["record"]
    assert path.read_bytes() == PATCHED
    assert path.stat().st_mode & 0o777 == 0o640
    assert path.stat().st_mtime_ns == 2_000_000_000
    assert os.listdir(folder) == ["config.json"]
    assert restore(folder, record)["files"] == [{"name": "config.json", "done": "restored"}]
    assert path.read_bytes() == ORIGINAL
    assert restore(folder, record)["files"] == [{"name": "config.json", "done": "already original"}]


def test_a_link_is_replaced_and_its_target_stays_and_restore_links_again(folder: Path) -> None:
    blob = folder.parent / "blobs" / "abc"
    blob.parent.mkdir()
    (folder / "config.json").rename(blob)
    (folder / "config.json").symlink_to("../blobs/abc")
    record = apply(folder)["record"]
    assert not (folder / "config.json").is_symlink()
    assert blob.read_bytes() == ORIGINAL
    restore(folder, record)
    assert os.readlink(folder / "config.json") == "../blobs/abc"
    assert blob.read_bytes() == ORIGINAL


def test_a_file_that_changed_since_is_neither_patched_nor_put_back(folder: Path) -> None:
    record = apply(folder)["record"]
    (folder / "config.json").write_bytes(b"{}")
    with pytest.raises(Refusal) as refused:
        apply(folder)
    assert refused.value.code == "changed_meanwhile"
    with pytest.raises(Refusal) as refused:
        restore(folder, record)
    assert refused.value.code == "changed_meanwhile"
    assert (folder / "config.json").read_bytes() == b"{}"


def test_two_files_change_together_or_not_at_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "hf_quant_config.json").write_bytes(ORIGINAL)
    exchange = config_files._exchange

    def fail_on_the_second(path: Path, content: bytes) -> None:
        if path.name == "hf_quant_config.json":
            raise OSError(28, "No space left on device")
        exchange(path, content)

    monkeypatch.setattr(config_files, "_exchange", fail_on_the_second)
    content = base64.b64encode(PATCHED).decode()
    names = ("config.json", "hf_quant_config.json")
    files = [{"name": name, "expect": sha(ORIGINAL), "content": content} for name in names]
    with pytest.raises(Refusal, match="No space left on device"):
        apply(folder, files=files)
    assert [(folder / name).read_bytes() for name in names] == [ORIGINAL, ORIGINAL]
    actions = [record["action"] for record in state.records(state.state_folder("p"))]
    assert actions == ["patch", "revert"]


def test_the_original_is_in_the_backups_and_the_journal_before_the_file_changes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, Any] = {}

    def look(_changes: object) -> None:
        kept = state.state_folder("p")
        seen["backup"] = (kept / "backups" / sha(ORIGINAL)).read_bytes()
        seen["journal"] = state.records(kept)[-1]["files"][0]["before"]

    monkeypatch.setattr(config_files, "_exchange_all", look)
    apply(folder)
    assert seen == {"backup": ORIGINAL, "journal": sha(ORIGINAL)}


def test_a_damaged_backup_is_never_written_back(folder: Path) -> None:
    record = apply(folder)["record"]
    (state.state_folder("p") / "backups" / sha(ORIGINAL)).write_bytes(b"damaged")
    with pytest.raises(Refusal) as refused:
        restore(folder, record)
    assert refused.value.code == "backup_missing"
    assert (folder / "config.json").read_bytes() == PATCHED


def test_what_a_killed_run_left_is_swept_and_foreign_files_stay(folder: Path) -> None:
    (folder / ".config.json.deploy-abc").write_bytes(b"half")
    (folder / ".config.json.swp").write_bytes(b"an editor's")
    apply(folder)
    assert sorted(os.listdir(folder)) == [".config.json.swp", "config.json"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_what_a_killed_run_left_on_a_volume_that_knows_one_owner_is_swept(folder: Path) -> None:
    (folder / ".config.json.deploy-abc").write_bytes(b"half")
    for path in (folder, *folder.iterdir()):
        os.chown(path, 65534, 65534)
    apply(folder, foreign_folder=True)
    assert os.listdir(folder) == ["config.json"]


def test_a_folder_of_another_user_is_refused_without_consent(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config_files.os, "getuid", lambda: 4242)
    with pytest.raises(Refusal) as refused:
        apply(folder)
    assert refused.value.code == "foreign_folder"
    assert (folder / "config.json").read_bytes() == ORIGINAL


def test_two_writers_of_one_folder_the_second_is_refused(folder: Path) -> None:
    import fcntl

    other = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(Refusal) as refused:
            apply(folder)
    finally:
        os.close(other)
    assert refused.value.code == "checkpoint_busy"


def test_a_remedy_without_files_is_only_recorded(folder: Path) -> None:
    answer = apply(folder, files=[], record={"flags": {"--kv-cache-dtype": None}})
    assert answer["record"]["flags"] == {"--kv-cache-dtype": None}
    assert (folder / "config.json").read_bytes() == ORIGINAL


def test_a_file_that_somebody_removed_is_filled_in_again(folder: Path) -> None:
    record = apply(folder)["record"]
    (folder / "config.json").unlink()
    assert restore(folder, record)["files"] == [{"name": "config.json", "done": "restored"}]
    assert (folder / "config.json").read_bytes() == ORIGINAL


@pytest.mark.parametrize("make", ["folder", "nothing"])
def test_a_config_that_is_no_file_is_named(folder: Path, make: str) -> None:
    (folder / "config.json").unlink()
    if make == "folder":
        (folder / "config.json").mkdir()
    with pytest.raises(Refusal, match=r"config\.json") as refused:
        apply(folder)
    assert refused.value.code == "config_missing"
