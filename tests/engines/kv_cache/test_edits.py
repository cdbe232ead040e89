"""Where vLLM reads FP8 or NVFP4 out of config files, edits make it read the model's own dtype; where it does that already, nothing
is edited."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.base.errors import CheckpointError
from orchestrator.checkpoint.edits import documents
from orchestrator.engines.vllm.kv_cache import declared, resolved
from orchestrator.on_host.programs import config_files
from orchestrator.patches.known import Known
from orchestrator.patches.propose import ways
from tests.engines.kv_cache.folders import everything
from tests.engines.kv_cache.real import NO_ENGINE, engine_answers
from tests.engines.kv_cache.test_reading import ANSWERED, EXPECTED
from tests.kv_edits import PATCHES, foreseen_edits

FOLDERS = everything()
NEWEST = "0.32.0"
RELEASES = ("0.14.1", "0.16.0", "0.19.1", "0.24.0", NEWEST)
REFUSED = {
    "old-key": "the old key compression_config",
    "old-key-beside-null": "the old key compression_config",
    "refuse-attn-head": "per attention head",
    "refuse-compression-config": "the old key compression_config",
    "scales-a-word": "a string as kv_cache_scheme",
    "scales-by-head": "per attention head",
    "scales-by-head-in-the-group-alone": "per attention head",
}
"""Forms that vLLM reads and that are left as they are, with what is said of them."""


@pytest.mark.parametrize("patch", ["fp8-kv-mla", "fp8-kv-attention"])
@pytest.mark.parametrize("version", [*RELEASES, None])
def test_what_is_auto_already_is_left_and_all_else_is_edited_until_it_is(
    version: str | None, patch: str
) -> None:
    for name in ANSWERED:
        files = FOLDERS[name]
        reading = resolved(documents(files), version)
        if reading != "auto" and name in REFUSED:
            with pytest.raises(CheckpointError, match=REFUSED[name]):
                foreseen_edits(files, version, patch)
            continue
        edits = foreseen_edits(files, version, patch)
        assert (name, bool(edits.edits)) == (name, reading != "auto")
        after = documents({**files, **edits.after})
        assert (name, resolved(after, version)) == (name, "auto")
        assert edits.before == {file: files[file] for file in edits.after}


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("both-equal-kimi", ["/quantization_config/kv_cache_scheme", "/text_config/quantization_config/kv_cache_scheme"]),
        ("both-equal-scales", ["/quantization_config/kv_cache_scheme", "/text_config/quantization_config/kv_cache_scheme"]),
        ("both-the-top-alone-asks", ["/quantization_config/kv_cache_scheme"]),
        ("both-the-nested-alone-asks", []),
        ("both-of-two-methods", ["/quantization_config/kv_cache_scheme"]),
        ("both-equal-and-sidecar", ["/quantization_config/kv_cache_scheme", "/text_config/quantization_config/kv_cache_scheme", "/quantization/kv_cache_quant_algo"]),
        ("nested-qwen", ["/text_config/quantization_config/kv_cache_scheme"]),
        ("method-underscore", ["/quantization_config/kv_cache_scheme"]),
        ("method-by-producer-over-another", ["/quantization_config/quantization/kv_cache_quant_algo"]),
        ("sidecar-with-a-method", ["/quantization/kv_cache_quant_algo"]),
        ("sidecar-no-producer", []),
    ],
)  # fmt: skip
def test_of_two_blocks_that_ask_both_are_edited(name: str, paths: list[str]) -> None:
    assert [edit.path for edit in foreseen_edits(FOLDERS[name], "0.32.0").edits] == paths


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("refuse-block-list", "a list as quantization_config"),
        ("sidecar-null-producer", "not written by modelopt"),
        ("old-layout-null", None),
    ],
)
def test_what_vllm_stops_at_is_not_said_to_be_auto(name: str, says: str | None) -> None:
    files = FOLDERS[name]
    assert declared(documents(files), NEWEST) is None
    if says is None:
        assert foreseen_edits(files, NEWEST).edits
        return
    with pytest.raises(CheckpointError, match=says):
        foreseen_edits(files, NEWEST)


def test_where_scales_stand_per_head_the_option_is_the_remedy() -> None:
    launch = Known(
        kind="vllm",
        version="0.24.0",
        documents=documents(FOLDERS["scales-by-head"]),
        cache_type="fp8_e4m3",
        arguments={},
        engine={"kv_cache_dtype": "auto", "dtype": "torch.bfloat16"},
    )
    (way,) = ways(PATCHES["fp8-kv-attention"], launch)
    assert [(act.kind, act.name, act.value) for act in way.actions] == [
        ("flag", "--kv-cache-dtype", "bfloat16")
    ]
    with pytest.raises(CheckpointError) as refusal:
        ways(PATCHES["fp8-kv-attention"], replace(launch, version="0.19.1"))
    assert refusal.value.known == {"argument": "kv-cache-dtype=bfloat16"}


def edited(version: str | None) -> dict[str, dict[str, bytes]]:
    """The folders that are edited for it, as they are then."""
    done = {}
    for name in ANSWERED:
        if name not in REFUSED and (edits := foreseen_edits(FOLDERS[name], version)).edits:
            done[name] = {**FOLDERS[name], **edits.after}
    return done


def test_each_folder_that_is_edited_is_put_back_to_the_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    done = edited(None)
    assert len(done) > 60
    for name, after in done.items():
        folder = tmp_path / name
        folder.mkdir()
        before = FOLDERS[name]
        changed = {file: text for file, text in after.items() if text != before[file]}
        for file, text in before.items():
            (folder / file).write_bytes(text)
        request = {"instance": "p", "folder": str(folder), "patch": "fp8-kv-mla"}
        files = [
            {"name": file, "expect": hashlib.sha256(before[file]).hexdigest(), "content": base64.b64encode(text).decode()}
            for file, text in changed.items()
        ]  # fmt: skip
        record = config_files.main({**request, "action": "apply", "files": files})["record"]
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == after
        config_files.main(
            {**request, "action": "restore", "files": record["files"], "shared_checkpoint": True}
        )
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.engine
@pytest.mark.timeout(600)
@pytest.mark.skipif(NO_ENGINE, reason="DEPLOY_TEST_ENGINE names no engine")
def test_the_engine_reads_auto_out_of_each_folder_that_was_edited(tmp_path: Path) -> None:
    rows = engine_answers(tmp_path, edited(NEWEST))
    assert len(rows) > 60
    assert {row["folder"]: row.get("dtype") for row in rows if row.get("dtype") != "auto"} == {}
    assert [
        row["folder"] for row in rows if "refused" in row and "refused" not in EXPECTED[row["folder"]]
    ] == []
