from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from orchestrator.on_host.programs import inspect_checkpoint
from orchestrator.on_host.state import state
from tests import tiny_mla
from tests.odd_files import UNREADABLE, put


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tiny_mla.make(tmp_path / "checkpoint")


def inspected(folder: Path, **request: Any) -> dict[str, Any]:
    return inspect_checkpoint.main({"folder": str(folder), **request})


def test_everything_in_one_answer(folder: Path) -> None:
    answer = inspected(folder)
    assert answer["exists"] and answer["owned_by_us"] and answer["writable"]
    assert answer["folder"] == str(folder)
    assert answer["owner_uid"] == os.geteuid()
    assert answer["manifest"] is None
    assert 0 < answer["disk"]["free_bytes"] <= answer["disk"]["total_bytes"]
    for name in tiny_mla.CONFIGS:
        assert base64.b64decode(answer["configs"][name]) == (folder / name).read_bytes()
    assert len(answer["index"]["shards"]) == len(answer["index"]["present"]) == 6
    assert answer["index"]["total_size"] == answer["weights_bytes"] == 6_050_312
    assert json.loads(json.dumps(answer)) == answer


def test_a_missing_shard_is_named(folder: Path) -> None:
    (folder / "model-00004-of-00006.safetensors").unlink()
    answer = inspected(folder)
    assert answer["index"]["missing"] == ["model-00004-of-00006.safetensors"]
    assert answer["weights_bytes"] is None


def test_the_files_tell_the_size_of_the_weights_whatever_their_index_names(folder: Path) -> None:
    index = folder / "model.safetensors.index.json"
    weights = json.loads(index.read_text())["weight_map"]
    for metadata in ({"total_size": 7}, {}):
        index.write_text(json.dumps({"metadata": metadata, "weight_map": weights}))
        assert inspected(folder)["weights_bytes"] == 6_050_312


def test_a_single_file_needs_no_index(tmp_path: Path) -> None:
    header = b'{"a": {"dtype": "U8", "shape": [5], "data_offsets": [0, 5]}}'
    single = tmp_path / "model.safetensors"
    single.write_bytes(len(header).to_bytes(8, "little") + header + b"12345")
    answer = inspected(tmp_path)
    assert (answer["index"], answer["weights_bytes"]) == (None, 5)
    single.write_text("version https://git-lfs.github.com/spec/v1")
    assert inspected(tmp_path)["weights_bytes"] is None


def test_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    answer = inspected(tmp_path / "not" / "yet")
    assert (answer["exists"], answer["owner_uid"], answer["configs"], answer["index"]) == (
        False,
        None,
        {},
        None,
    )
    assert answer["writable"]
    assert answer["disk"]["free_bytes"] > 0


def test_links_are_told_and_read_through(folder: Path, tmp_path: Path) -> None:
    (folder / "config.json").rename(tmp_path / "blob")
    (folder / "config.json").symlink_to("../blob")
    answer = inspected(folder)
    assert answer["symlinks"] == {"config.json": "../blob"}
    assert base64.b64decode(answer["configs"]["config.json"]) == (tmp_path / "blob").read_bytes()


def test_the_folder_is_told_by_its_real_path(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    assert inspected(tmp_path / "link")["folder"] == str(folder)


def test_a_dangling_config_is_unreadable(folder: Path) -> None:
    (folder / "config.json").unlink()
    (folder / "config.json").symlink_to("nowhere")
    answer = inspected(folder)
    assert answer["unreadable"] == {"config.json": "is a link to nowhere, which is missing"}
    assert "config.json" not in answer["configs"]


def test_a_huge_config_is_named_instead_of_sent(folder: Path) -> None:
    with (folder / "config.json").open("wb") as file:
        file.truncate(inspect_checkpoint.LIMIT + 1)
    answer = inspected(folder)
    assert answer["unreadable"]["config.json"].startswith("is too large: ")
    assert "config.json" not in answer["configs"]


@pytest.mark.parametrize("kind", sorted(UNREADABLE.keys() - {"missing"}))
@pytest.mark.parametrize("name", [*tiny_mla.CONFIGS, "model.safetensors.index.json"])
def test_what_is_no_file_is_told_at_once(folder: Path, name: str, kind: str) -> None:
    put(folder / name, kind)
    answer = inspected(folder)
    if name in tiny_mla.CONFIGS:
        assert answer["unreadable"] == {name: UNREADABLE[kind]}
        assert name not in answer["configs"]
    else:
        assert answer["index"]["broken"] is True


@pytest.mark.parametrize(
    ("size", "told"),
    [
        ("7", 7),
        ("7.5", 7),
        ("Infinity", None),
        ("-Infinity", None),
        ("NaN", None),
        ("1e999", None),
        ("-7", None),
        ("0", None),
        ("true", None),
        ("9" * 4000, None),
        ('"7"', None),
        ("[7]", None),
        ("null", None),
    ],
)
def test_a_size_that_can_be_none_is_not_told(folder: Path, size: str, told: int | None) -> None:
    index = folder / "model.safetensors.index.json"
    weights = json.dumps(json.loads(index.read_text())["weight_map"])
    index.write_text(f'{{"metadata": {{"total_size": {size}}}, "weight_map": {weights}}}')
    answer = inspected(folder)["index"]
    assert (answer["broken"], answer["total_size"]) == (False, told)
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer


@pytest.mark.parametrize(
    "manifest",
    [
        [],
        {"files": ["a"]},
        {"files": {"a": 3}},
        {"files": {"a": {"size": "7"}}},
        {"files": {"a": {"sha256": 7}}},
        {"repository": 7},
        {"commit": ["c"]},
        {"endpoint": {}},
        {"complete": "yes"},
        {"rate": "fast"},
    ],
)
def test_a_manifest_that_is_none(folder: Path, manifest: Any) -> None:
    room = state.state_folder("p") / "download"
    room.mkdir()
    here = {"folder": str(folder), "machine": state.machine_id()}
    state.write_json(room / "manifest.json", {**here, **manifest} if isinstance(manifest, dict) else manifest)
    assert inspected(folder, instance="p")["manifest"] is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"weight_map": 3}',
        '{"weight_map": {"a": ["b"]}}',
        '{"weight_map": {"a": 3}}',
        '{"weight_map": {}, "metadata": 3}',
        "[" * 100_000,
        "\ufeff{}",
    ],
)
def test_a_broken_index_is_told_as_broken(folder: Path, text: str) -> None:
    (folder / "model.safetensors.index.json").write_text(text)
    assert inspected(folder)["index"]["broken"] is True


@pytest.mark.parametrize(
    ("changed", "there"), [({}, True), ({"folder": "/elsewhere"}, False), ({"machine": "another"}, False)]
)
def test_a_manifest_counts_for_its_own_folder_and_machine_alone(
    folder: Path, changed: dict[str, str], there: bool
) -> None:
    room = state.state_folder("p") / "download"
    room.mkdir()
    manifest = {"folder": str(folder), "machine": state.machine_id(), "commit": "c", "files": {}, **changed}
    state.write_json(room / "manifest.json", manifest)
    assert (inspected(folder, instance="p")["manifest"] == manifest) is there
