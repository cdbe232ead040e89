from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from orchestrator.base.errors import CheckpointError
from orchestrator.checkpoint.edits import documents, unified_diff
from orchestrator.engines.vllm.kv_cache import resolved
from tests.kv_edits import plan_edits

CASES = sorted((Path(__file__).parent / "cases").iterdir())
EDITED = [case for case in CASES if json.loads((case / "expected.json").read_text()).get("edits")]


def read(case: Path) -> tuple[dict[str, bytes], dict]:
    names = ("config.json", "hf_quant_config.json")
    files = {name: (case / name).read_bytes() for name in names if (case / name).exists()}
    return files, json.loads((case / "expected.json").read_text())


@pytest.mark.parametrize("patch", ["fp8-kv-mla", "fp8-kv-attention"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_edits_are_those_of_the_case(case: Path, patch: str) -> None:
    files, expected = read(case)
    if expected.get("refused"):
        with pytest.raises(CheckpointError) as refusal:
            plan_edits(files, patch)
        assert refusal.value.code == expected["refused"]
        assert expected["says"] in refusal.value.message
        return
    edits = plan_edits(files, patch)
    ops = {"remove": "remove", "set": "null"}
    assert all(e.value is None for e in edits.edits)
    assert [{"file": e.file, "path": e.path, "op": ops[e.op]} for e in edits.edits] == expected["edits"]
    assert set(edits.after) == {e["file"] for e in expected["edits"]}
    for after in (case / "after").glob("*"):
        assert edits.after[after.name] == after.read_bytes()


@pytest.mark.parametrize("case", EDITED, ids=lambda case: case.name)
def test_after_the_edits_auto_is_the_models_dtype_and_nothing_is_left_to_do(case: Path) -> None:
    files, _ = read(case)
    patched = {**files, **plan_edits(files).after}
    assert plan_edits(patched).edits == ()
    assert {resolved(documents(patched), v) for v in ("0.14.0", "0.16.0", "0.24.0", "0.33.0")} == {"auto"}


@pytest.mark.parametrize("case", EDITED, ids=lambda case: case.name)
def test_the_key_that_nvfp4_requires_is_never_deleted(case: Path) -> None:
    files, _ = read(case)
    patched = {**files, **plan_edits(files).after}

    def legacy_blocks(data: bytes) -> list[dict]:
        top = json.loads(data)
        return [b["quantization"] for b in (top, top.get("quantization_config") or {}) if "quantization" in b]

    for name, before in files.items():
        for old, new in zip(legacy_blocks(before), legacy_blocks(patched[name]), strict=True):
            assert ("kv_cache_quant_algo" in old) == ("kv_cache_quant_algo" in new)


@pytest.mark.parametrize("case", EDITED, ids=lambda case: case.name)
def test_the_diff_applies_as_a_patch(case: Path, tmp_path: Path) -> None:
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    files, _ = read(case)
    edits = plan_edits(files)
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    diff = unified_diff(edits).encode()
    subprocess.run([git, "apply", "-p1"], input=diff, cwd=tmp_path, check=True)
    assert {name: (tmp_path / name).read_bytes() for name in files} == {**files, **edits.after}


def test_the_diff_of_the_flagship_reads_like_a_diff() -> None:
    files, _ = read(Path(__file__).parent / "cases" / "shape-a-with-sidecar")
    diff = unified_diff(plan_edits(files))
    assert "--- a/config.json\n+++ b/config.json\n" in diff
    assert '-    "kv_cache_quant_algo": "FP8"' in diff.replace("        ", "    ")
    assert '+        "kv_cache_quant_algo": null,\n' in diff


def test_no_edits_give_an_empty_diff() -> None:
    assert unified_diff(plan_edits({"config.json": b"{}"})) == ""


@pytest.mark.parametrize("broken", [b"", b"{", b"\xff\xfe{}", b'{"a": 1,}', b"{}{}"])
def test_a_broken_config_is_named_with_its_place(broken: bytes) -> None:
    with pytest.raises(CheckpointError, match=r"config.json line 1 column \d+") as error:
        plan_edits({"config.json": broken})
    assert error.value.code == "config_broken"


def test_without_config_there_is_nothing_to_plan() -> None:
    with pytest.raises(CheckpointError, match=r"no config\.json"):
        plan_edits({"hf_quant_config.json": b"{}"})
