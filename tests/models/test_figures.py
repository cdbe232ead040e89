"""What a written playbook keeps of config.json decides as the whole file does."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.engines.kv_cache import CacheQuestion
from orchestrator.engines.vllm.sizing.cost import kv_cache
from orchestrator.models.figures import figured
from orchestrator.models.identity import deployment_of
from tests import surveys
from tests.of_each import of_each

CONFIGS = sorted((Path(__file__).parents[1] / "engines" / "sizing" / "configs").glob("*.json"))
ASKED = deployment_of("org/name")


def kept(config: dict[str, Any], **files: Any) -> Any:
    documents = {"config.json": config, **{f"{name}.json": value for name, value in files.items()}}
    contents = {name: json.dumps(value).encode() for name, value in documents.items()}
    return figured(ASKED, replace(surveys.WHOLE, configs=contents), "0.32.0").figures


@of_each(CONFIGS, lambda file: file.stem)
def test_a_token_costs_the_same_by_what_is_kept(file: Path) -> None:
    whole = json.loads(file.read_text())
    figures = kept(whole)
    assert len(json.dumps(figures.config)) <= len(json.dumps(whole))
    for version, dtype in (("0.16.0", "auto"), ("0.32.0", "auto"), ("0.32.0", "fp8")):
        assert kv_cache(CacheQuestion(figures.config, version, dtype, 2, compute_cap="9.0")) == kv_cache(
            CacheQuestion(whole, version, dtype, 2, compute_cap="9.0")
        )


def test_the_other_figures_are_those_of_the_files() -> None:
    scheme = {"dynamic": False, "num_bits": 8, "type": "float"}
    modelopt = {"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_scheme": scheme}
    figures = kept({"model_type": "llama", "quantization_config": modelopt})
    assert (figures.weights_bytes, figures.shards, figures.kv_cache) == (590_700_000_000, 119, "fp8")
    assert figures.config == {"model_type": "llama"}
    assert kept({"model_type": "llama"}).kv_cache == "bf16"


def test_what_is_no_text_for_people_is_left_out() -> None:
    odd = {
        "a": "x\x1b",
        "b": "x" * 201,
        "c\n": 1,
        "d": 1 << 63,
        "e": [1] * 1001,
        "f": [["\x1b", 2]],
        "g": True,
    }
    assert kept({**odd, "h": float("inf"), "eos_token_id": 7}).config == {"f": [[2]], "g": True}


def test_what_an_option_set_stays() -> None:
    asked = ASKED.with_overrides(["figures.weights_bytes=7"])
    assert figured(asked, surveys.WHOLE, "0.32.0").figures.weights_bytes == 7
    assert figured(asked, surveys.NO_FILES, "0.32.0") is asked
