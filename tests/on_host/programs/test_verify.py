from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from orchestrator.on_host.programs import verify
from orchestrator.on_host.refusal import Refusal

SECOND = "model-00002-of-00006.safetensors"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 123\n"


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "checkpoint"))


def judged(folder: Path, **request: Any) -> dict[str, Any]:
    return verify.main({"folder": str(folder), "deep": False, "files": None, **request})


def reasons(answer: dict[str, Any]) -> dict[str, str]:
    return {entry["file"]: entry["why"] for entry in answer["bad"]}


def shard(tensors: dict[str, Any], data: bytes) -> bytes:
    header = json.dumps(tensors).encode()
    return len(header).to_bytes(8, "little") + header + data


def tensor(dtype: str, shape: list[int], begin: int, end: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def alone(tmp_path: Path, content: bytes) -> Path:
    """A checkpoint of one shard and no index."""
    (tmp_path / "model.safetensors").write_bytes(content)
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "tokenizer.json").write_text("{}")
    return tmp_path


def test_a_whole_checkpoint(folder: Path) -> None:
    size = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    assert judged(folder) == {
        "whole": True,
        "shards": 6,
        "tensors": 41,
        "bytes": size,
        "bad": [],
        "index": "model.safetensors.index.json",
    }


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "empty"),
        (POINTER, "a Git LFS pointer"),
        (b"<!DOCTYPE html><html><body>503</body></html>", "an HTML page"),
        (b'{"error": "Repository not found"}', "a JSON answer"),
        (b"\x00\x01", "no safetensors file"),
        (b"\x07" * 8 + b"x" * 100, "no safetensors file"),
        ((5000).to_bytes(8, "little") + b"{", "cut off: 9 bytes, the header alone takes 5008"),
        ((4).to_bytes(8, "little") + b"nope", "its header is not JSON"),
        ((2).to_bytes(8, "little") + b"[]", "its header is not JSON"),
    ],
)
def test_something_else_in_place_of_a_shard_is_named(folder: Path, content: bytes, why: str) -> None:
    (folder / SECOND).write_bytes(content)
    answer = judged(folder)
    assert not answer["whole"]
    assert reasons(answer)[SECOND].startswith(why)
    assert list(reasons(answer)) == [SECOND]


def test_a_shard_cut_off_by_one_byte(folder: Path) -> None:
    size = (folder / SECOND).stat().st_size
    os.truncate(folder / SECOND, size - 1)
    assert reasons(judged(folder)) == {SECOND: f"cut off: {size - 1} bytes where its header promises {size}"}


def test_a_shard_with_bytes_after_its_end(folder: Path) -> None:
    with (folder / SECOND).open("ab") as file:
        file.write(b"x")
    assert reasons(judged(folder))[SECOND].startswith("too long")


def test_a_missing_shard(folder: Path) -> None:
    (folder / SECOND).unlink()
    assert reasons(judged(folder)) == {SECOND: "missing"}


def test_a_link_is_followed_and_a_dangling_one_named(folder: Path, tmp_path: Path) -> None:
    (folder / SECOND).rename(tmp_path / "blob")
    (folder / SECOND).symlink_to(tmp_path / "blob")
    assert judged(folder)["whole"]
    (tmp_path / "blob").unlink()
    assert reasons(judged(folder))[SECOND].startswith("is a link to")


def test_neither_a_folder_nor_a_pipe_is_a_shard(folder: Path) -> None:
    (folder / SECOND).unlink()
    os.mkfifo(folder / SECOND)
    assert reasons(judged(folder)) == {SECOND: "is a pipe, not a regular file"}


def test_a_tensor_that_the_index_expects_elsewhere(folder: Path) -> None:
    index = json.loads((folder / verify.INDEX).read_text())
    index["weight_map"]["model.norm.weight"] = SECOND
    (folder / verify.INDEX).write_text(json.dumps(index))
    assert reasons(judged(folder)) == {
        SECOND: "lacks the tensor model.norm.weight that the index expects in it"
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "not JSON"),
        ("{}", "has no weight_map"),
        ('{"weight_map": {"a": "../b.safetensors"}}', "names the shard"),
        ('{"weight_map": {"a": 3}}', "names the shard"),
        ('{"metadata": {"total_size": NaN}, "weight_map": {"a": ["b"]}}', "names the shard ['b']"),
        ('{"weight_map": ' + "[" * 500 + "]" * 500 + "}", "nested too deep"),
        ('{"weight_map": {"a": "b\\n  next: evil"}}', "names the shard"),
        ("[]", "not a JSON object"),
        ("", "empty"),
    ],
)
def test_a_broken_index(folder: Path, text: str, why: str) -> None:
    (folder / verify.INDEX).write_text(text)
    assert reasons(judged(folder))[verify.INDEX].startswith(why)


@pytest.mark.parametrize(
    ("tensors", "data", "why"),
    [
        ({"a": tensor("F32", [2], 0, 7)}, 7, "tensor a of F32 [2] does not fill 7 bytes"),
        ({"a": tensor("U8", [2], 1, 3)}, 3, "tensor a leaves a hole at byte 0"),
        ({"a": tensor("U8", [2], 0, 2), "b": tensor("U8", [2], 1, 3)}, 3, "tensor b overlaps another"),
        ({"a": tensor("U8", [2], 0, 2), "b": tensor("U8", [1], 3, 4)}, 4, "tensor b leaves a hole at byte 2"),
        ({"a": {"dtype": "U8", "shape": [1]}}, 1, "tensor a has no sound dtype"),
        ({"a": tensor("U8", [-1], 0, 1)}, 1, "tensor a has no sound dtype"),
        ({"a": tensor("U8", [1], 1, 0)}, 1, "tensor a has no sound dtype"),
        ({"a": 5}, 0, "tensor a has no sound dtype"),
    ],
)
def test_a_header_that_cannot_be(tmp_path: Path, tensors: dict, data: int, why: str) -> None:
    answer = judged(alone(tmp_path, shard(tensors, b"\0" * data)))
    assert reasons(answer)["model.safetensors"].startswith(why)


@pytest.mark.parametrize(
    ("dtype", "shape", "size"),
    [
        ("F4", [3, 2], 3),
        ("F8_E4M3", [5], 5),
        ("BF16", [2, 2], 8),
        ("I64", [], 8),
        ("U8", [0], 0),
        ("F9_NEW", [7], 3),
    ],
)
def test_headers_of_all_widths(tmp_path: Path, dtype: str, shape: list[int], size: int) -> None:
    tensors = {"__metadata__": {"format": "pt"}, "a": tensor(dtype, shape, 0, size)}
    answer = judged(alone(tmp_path, shard(tensors, b"\0" * size)))
    assert (answer["whole"], answer["tensors"], answer["index"]) == (True, 1, None)


def test_a_series_without_index_misses_its_other_shards(tmp_path: Path) -> None:
    folder = alone(tmp_path, shard({}, b""))
    (folder / "model.safetensors").rename(folder / "model-00002-of-00003.safetensors")
    missing = {"model-00001-of-00003.safetensors": "missing", "model-00003-of-00003.safetensors": "missing"}
    assert reasons(judged(folder)) == missing


def test_a_folder_without_weights(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert set(reasons(judged(tmp_path))) == {"model.safetensors", "tokenizer.json"}


@pytest.mark.parametrize(("text", "why"), [(None, "missing"), ("{", "not JSON"), ("", "empty")])
def test_config_must_be_there_and_be_json(folder: Path, text: str | None, why: str) -> None:
    (folder / "config.json").unlink() if text is None else (folder / "config.json").write_text(text)
    assert reasons(judged(folder))["config.json"].startswith(why)


@pytest.mark.parametrize(
    "content",
    [b'\xef\xbb\xbf{"a": 1}', '{"a": 1}'.encode("utf-16"), b'{"a": "\xe9"}', b'{"a":' + b"[" * 10**5],
    ids=["bom", "utf-16", "latin-1", "deep"],
)
def test_a_config_in_a_form_that_no_engine_reads(folder: Path, content: bytes) -> None:
    (folder / "config.json").write_bytes(content)
    assert reasons(judged(folder))["config.json"].startswith("not JSON (")


def test_a_pointer_in_place_of_the_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_bytes(POINTER)
    assert reasons(judged(folder)) == {"tokenizer.json": "a Git LFS pointer"}


def test_other_tokenizers_count(folder: Path) -> None:
    (folder / "tokenizer.json").rename(folder / "tiktoken.model")
    assert judged(folder)["whole"]


def test_sizes_are_held_against_the_manifest(folder: Path) -> None:
    answer = judged(
        folder, files={"config.json": {"size": 1, "sha256": None}, "extra.py": {"size": 1, "sha256": None}}
    )
    size = (folder / "config.json").stat().st_size
    assert reasons(answer) == {
        "config.json": f"{size} bytes where the repository has 1",
        "extra.py": "missing",
    }


def test_deep_finds_the_flipped_bit_that_the_structure_hides(folder: Path) -> None:
    names = sorted(path.name for path in folder.glob("*.safetensors"))
    files = {
        name: {
            "size": (folder / name).stat().st_size,
            "sha256": hashlib.sha256((folder / name).read_bytes()).hexdigest(),
        }
        for name in names
    }
    data = bytearray((folder / SECOND).read_bytes())
    data[-1] ^= 1
    (folder / SECOND).write_bytes(data)
    assert judged(folder, files=files)["whole"]
    *progress, answer = verify.main({"folder": str(folder), "deep": True, "files": files})
    assert reasons(answer) == {SECOND: "its sha256 is not that of the repository"}
    assert (answer["whole"], answer["hashed"]) == (False, 6)
    assert progress[-1]["progress"]["bytes"] == progress[-1]["progress"]["total"] > 3_000_000


def test_deep_without_hashes_is_the_plain_answer(folder: Path) -> None:
    progress, answer = verify.main({"folder": str(folder), "deep": True, "files": None})
    assert progress == {"progress": {"bytes": 0, "total": 0, "file": None}}
    assert (answer["whole"], answer["hashed"]) == (True, 0)


def test_no_folder_is_a_refusal(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as refusal:
        judged(tmp_path / "nowhere")
    assert refusal.value.code == "no_checkpoint"


def test_a_folder_that_may_not_be_read_is_a_refusal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(Refusal) as refusal:
        judged(folder)
    assert refusal.value.code == "permission"


def test_many_large_shards_take_a_moment_and_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "socket", lambda *_: pytest.fail("the network was used"))
    weights = {}
    for number in range(1, 120):
        name = f"model-{number:05}-of-00119.safetensors"
        tensors = {
            f"t{number}.{n}": tensor("U8", [50_000_000], n * 50_000_000, (n + 1) * 50_000_000)
            for n in range(100)
        }
        (tmp_path / name).write_bytes(shard(tensors, b""))
        header = (tmp_path / name).stat().st_size
        os.truncate(tmp_path / name, header + 5_000_000_000)  # sparse
        weights |= dict.fromkeys(tensors, name)
    (tmp_path / verify.INDEX).write_text(json.dumps({"weight_map": weights}))
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "tokenizer.json").write_text("{}")
    began = time.monotonic()
    answer = judged(tmp_path)
    assert (answer["whole"], answer["shards"], answer["tensors"]) == (True, 119, 11_900)
    assert answer["bytes"] > 595_000_000_000
    assert time.monotonic() - began < 5
