"""The tests' own checkpoint is what it claims to be."""

from __future__ import annotations

import json
from pathlib import Path

import safetensors

from orchestrator.checkpoint.edits import documents
from orchestrator.engines.kv_cache import CacheQuestion
from orchestrator.engines.vllm.kv_cache import resolved
from orchestrator.engines.vllm.sizing.cost import kv_cache
from tests import tiny_mla
from tests.kv_edits import plan_edits


def test_it_is_read_by_the_safetensors_library_as_its_index_says(tmp_path: Path) -> None:
    folder = tiny_mla.make(tmp_path / "tiny")
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    found = {}
    for shard in sorted(folder.glob("*.safetensors")):
        with safetensors.safe_open(shard, "numpy") as tensors:
            found |= dict.fromkeys(tensors.keys(), shard.name)
            assert {tensors.get_slice(name).get_dtype() for name in tensors.keys()} == {"BF16"}  # noqa: SIM118
    assert found == index["weight_map"]
    assert len(set(found.values())) == 6


def test_it_is_mla_and_asks_for_an_fp8_kv_cache_until_patched(tmp_path: Path) -> None:
    folder = tiny_mla.make(tmp_path / "tiny")
    files = {name: (folder / name).read_bytes() for name in ("config.json", "hf_quant_config.json")}
    cache = kv_cache(CacheQuestion(json.loads(files["config.json"]), "0.16.0", "auto"))
    assert cache is not None and cache.attention == "mla"
    assert resolved(documents(files), "0.16.0") == "fp8_e4m3"
    edits = plan_edits(files)
    assert [edit.file for edit in edits.edits] == ["config.json", "hf_quant_config.json"]
    assert resolved(documents({**files, **edits.after}), "0.16.0") == "auto"


def test_its_tokenizer_has_as_many_entries_as_the_model(tmp_path: Path) -> None:
    folder = tiny_mla.make(tmp_path / "tiny")
    model = json.loads((folder / "tokenizer.json").read_text())["model"]
    assert sorted(model["vocab"].values()) == list(range(320))
    assert all(left + right in model["vocab"] for left, right in model["merges"])


def test_a_seed_makes_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    one, same, other = (tiny_mla.make(tmp_path / str(n), seed) for n, seed in enumerate((7, 7, 8)))
    name = "model-00003-of-00006.safetensors"
    assert (one / name).read_bytes() == (same / name).read_bytes() != (other / name).read_bytes()
