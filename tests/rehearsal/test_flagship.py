"""The generated checkpoint is whole, and asks for what the flagship's asks for."""

from __future__ import annotations

import json
from pathlib import Path

import safetensors

from orchestrator.checkpoint.edits import documents
from orchestrator.engines.kv_cache import CacheQuestion
from orchestrator.engines.vllm.kv_cache import resolved
from orchestrator.engines.vllm.sizing.cost import kv_cache
from orchestrator.on_host.programs import verify
from orchestrator.rehearsal import flagship
from tests.kv_edits import plan_edits


def test_it_is_whole_for_us_and_for_the_safetensors_library(tmp_path: Path) -> None:
    folder = flagship.make(tmp_path / "checkpoint")
    judged = verify.main({"folder": str(folder)})
    assert (judged["whole"], judged["shards"]) == (True, flagship.SHARDS)
    assert flagship.SHARDS >= 12
    found: dict[str, str] = {}
    for shard in folder.glob("*.safetensors"):
        with safetensors.safe_open(shard, "numpy") as tensors:
            found |= dict.fromkeys(tensors.keys(), shard.name)
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    assert found == index["weight_map"]
    assert sum(file.stat().st_size for file in folder.iterdir()) < 8e6


def test_its_configs_are_written_and_patched_as_the_real_ones(tmp_path: Path) -> None:
    folder = flagship.make(tmp_path / "checkpoint")
    files = {name: (folder / name).read_bytes() for name in ("config.json", "hf_quant_config.json")}
    config = json.loads(files["config.json"])
    assert files["config.json"].decode() == json.dumps(config, indent=4, sort_keys=True)
    cache = kv_cache(CacheQuestion(config, "0.16.0", "auto"))
    assert cache is not None and cache.attention == "mla"
    assert resolved(documents(files), "0.16.0") == "fp8_e4m3"
    edits = plan_edits(files)
    assert [edit.file for edit in edits.edits] == ["config.json", "hf_quant_config.json"]
    assert resolved(documents({**files, **edits.after}), "0.16.0") == "auto"
