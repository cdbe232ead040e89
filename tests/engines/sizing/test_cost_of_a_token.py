"""What a token of KV cache costs, against what vLLM itself reckons for published configs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from orchestrator.checkpoint.architecture import kv_bytes_per_token, read

HERE = Path(__file__).parent
EXPECTED: dict[str, dict[str, Any]] = YAML(typ="safe").load(HERE / "expected.yaml")["configs"]
TENSOR = (1, 2, 4, 8)
DTYPES = {"bf16": "bfloat16", "fp8": "fp8"}
DIFFERENT = frozenset(
    {
        "LGAI-EXAONE--EXAONE-4.0-32B",
        "MiniMaxAI--MiniMax-M3",
        "XiaomiMiMo--MiMo-V2-Flash",
        "allenai--Olmo-3.1-32B-Instruct",
        "deepseek-ai--DeepSeek-V4-Flash",
        "deepseek-ai--DeepSeek-V4-Pro",
        "google--gemma-3-4b-it",
        "google--gemma-4-26B-A4B",
        "meta-llama--Llama-4-Maverick-17B-128E-Instruct",
        "meta-llama--Llama-4-Scout-17B-16E-Instruct",
        "microsoft--Phi-3-mini-128k-instruct",
        "microsoft--Phi-3-mini-4k-instruct",
        "microsoft--Phi-3.5-mini-instruct",
        "microsoft--Phi-4-mini-reasoning",
        "nvidia--DeepSeek-V4-Flash-NVFP4",
        "nvidia--DeepSeek-V4-Pro-NVFP4",
        "nvidia--GLM-5.2-NVFP4",
        "nvidia--GLM-5.3-NVFP4",
        "nvidia--Gemma-4-26B-A4B-NVFP4",
        "nvidia--Gemma-4-31B-IT-NVFP4",
        "nvidia--Llama-3_3-Nemotron-Super-49B-v1",
        "nvidia--MiniMax-M3-NVFP4",
        "nvidia--NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16",
        "nvidia--NVIDIA-Nemotron-3-Ultra-550B-A55B-FP8",
        "nvidia--NVIDIA-Nemotron-3-Ultra-550B-A55B-NVFP4",
        "nvidia--NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4",
        "openai--gpt-oss-120b",
        "openai--gpt-oss-20b",
        "openai--whisper-tiny",
        "zai-org--GLM-5.2",
        "zai-org--GLM-5.2-FP8",
        "zai-org--GLM-5.3",
        "zai-org--GLM-5.3-FP8",
    }
)
"""Where ours is not vLLM's figure yet: nothing is known or another number is told. It may only shrink."""


def ours(name: str) -> dict[str, list[int | None]]:
    shape = read(json.loads((HERE / "configs" / f"{name}.json").read_text()))
    return {
        label: [kv_bytes_per_token(shape, dtype, ranks) for ranks in TENSOR]
        for label, dtype in DTYPES.items()
    }


def theirs(name: str) -> dict[str, list[float | None]]:
    nothing = [None] * len(TENSOR)
    return EXPECTED[name].get("whole", {"bf16": nothing, "fp8": nothing})


def agree(name: str) -> bool:
    """Sizes of parallelism that the engine refuses have no figure to agree with."""
    pairs = (
        (mine, its)
        for label in DTYPES
        for mine, its in zip(ours(name)[label], theirs(name)[label], strict=True)
    )
    refused = "whole" not in EXPECTED[name]
    return all(mine == its or (its is None and not refused) for mine, its in pairs)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_token_costs_what_the_engine_says(name: str) -> None:
    assert agree(name) == (name not in DIFFERENT), (ours(name), theirs(name))


def test_every_config_has_its_figures() -> None:
    assert {path.stem for path in (HERE / "configs").iterdir()} == set(EXPECTED)
