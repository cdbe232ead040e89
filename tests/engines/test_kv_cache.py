"""What vLLM stores its KV cache as, told from the config files of real checkpoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.engines.vllm.kv_cache import CACHE_TYPE, resolved

CASES = sorted((Path(__file__).parents[1] / "checkpoint" / "cases").iterdir())


def documents(case: Path) -> dict[str, Any]:
    names = ("config.json", "hf_quant_config.json")
    return {name: json.loads((case / name).read_bytes()) for name in names if (case / name).exists()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_auto_resolves_as_vllm_resolves_it(case: Path) -> None:
    expected = json.loads((case / "expected.json").read_text())
    for version, dtype in expected.get("resolved", {}).items():
        assert (version, resolved(documents(case), version)) == (version, dtype)


def test_release_candidates_and_local_versions_count_as_their_release() -> None:
    (case,) = [case for case in CASES if case.name == "shape-a-flat-scheme"]
    assert resolved(documents(case), "0.14.0rc2+cpu") == "fp8_e4m3"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_its_patches_edit_decides(case: Path) -> None:
    edits = json.loads((case / "expected.json").read_text()).get("edits", [])
    assert {edit["path"].rpartition("/")[2] for edit in edits} <= CACHE_TYPE.members
