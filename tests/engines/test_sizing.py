"""Whether weights and KV cache fit: worked examples, and what holds for all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from orchestrator.engines import sizing
from orchestrator.engines.sizing import Overhead, fit
from orchestrator.engines.vllm import memory

CASES: list[dict[str, Any]] = YAML(typ="safe").load(Path(__file__).parent / "cases" / "sizing.yaml")


def judge(case: dict[str, Any]) -> sizing.Fit:
    total = case["memory_gib"]
    utilisation = case.get("utilisation", memory.default_utilisation(str(case["version"])))
    if "memory_mib" in case:
        total = sizing.smallest_memory_gib([case["memory_mib"]] * case["gpus"])
    return fit(
        memory_gib=total,
        weights_bytes=case["weights_bytes"],
        replicated_bytes=case["replicated_bytes"],
        gpus=case["gpus"],
        kv_bytes_per_token=case["kv"],
        context=case["context"],
        utilisation=utilisation,
        context_parallel=case.get("context_parallel", 1),
        overhead=Overhead(*case["overhead"]) if "overhead" in case else memory.default_overhead(utilisation),
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_worked_examples(case: dict[str, Any]) -> None:
    judged = judge(case)
    assert judged.verdict == case["verdict"]
    for value, key in (
        (judged.weights_gib_per_gpu, "weights"),
        (judged.safe_gib, "left"),
        (judged.needed_gib, "needed"),
    ):
        assert value == (None if case[key] is None else pytest.approx(case[key], abs=0.02)), key
    assert judged.max_model_len == case["max_model_len"]
    assert case.get("says", "") in judged.reason


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.10.0", 0.9),
        ("0.19.1", 0.9),
        ("0.20.0", 0.92),
        ("0.33.0", 0.92),
        ("1.0", 0.92),
        (None, 0.9),
        ("x", 0.9),
    ],
)
def test_the_default_share_of_the_memory(version: str | None, expected: float) -> None:
    assert memory.default_utilisation(version) == expected


def test_the_smallest_gpu_decides_and_an_unknown_one_is_never_zero() -> None:
    assert sizing.smallest_memory_gib([97887, 81559]) == pytest.approx(79.13, abs=0.01)
    assert sizing.smallest_memory_gib([97887, None]) is None
    assert sizing.smallest_memory_gib([]) is None


def test_bytes_of_a_token() -> None:
    kimi = {"layers": 61, "kv_lora_rank": 512, "qk_rope_head_dim": 64}
    assert sizing.mla_bytes_per_token(**kimi, bytes_each=1) == 35136
    assert sizing.mla_bytes_per_token(**kimi, bytes_each=2) == 70272
    llama = {"layers": 80, "kv_heads": 8, "head_dim": 128}
    assert sizing.gqa_bytes_per_token(**llama, tensor=1, bytes_each=2) == 327680
    assert sizing.gqa_bytes_per_token(**llama, tensor=16, bytes_each=2) == 40960  # one head a rank at least
    qwen = {"layers": 94, "kv_heads": 4, "head_dim": 128}
    assert sizing.gqa_bytes_per_token(**qwen, tensor=4, bytes_each=2) == 48128


@pytest.mark.parametrize(("context", "longest"), [(131072, 151760), (180000, 151760), (262144, 151760)])
def test_the_longest_context_that_fits_does_not_depend_on_the_one_asked_for(
    context: int, longest: int
) -> None:
    assert judge({**CASES[0], "context": context}).max_model_len == longest


def test_no_context_is_named_where_nothing_fits_or_is_known() -> None:
    assert judge({**CASES[0], "gpus": 4}).max_model_len is None
    assert judge({**CASES[0], "kv": None}).max_model_len is None


@given(
    total=st.floats(1, 300),
    weights=st.integers(1, 2**42),
    kv=st.integers(1, 2**20),
    context=st.integers(1, 2**21),
    gpus=st.sampled_from([1, 2, 4, 8]),
)
def test_the_longest_context_fits(total: float, weights: int, kv: int, context: int, gpus: int) -> None:
    numbers = {
        "memory_gib": total, "weights_bytes": weights, "kv_bytes_per_token": kv, "gpus": gpus,
        "utilisation": 0.9, "overhead": memory.default_overhead(0.9),
    }  # fmt: skip
    judged = fit(**numbers, context=context)  # type: ignore[arg-type]
    longest = judged.max_model_len
    if longest is None:
        assert judged.verdict != "fits" or context < sizing.BLOCK
        return
    assert longest % sizing.BLOCK == 0
    assert fit(**numbers, context=longest).verdict == "fits"  # type: ignore[arg-type]
    assert fit(**numbers, context=longest + sizing.BLOCK).verdict != "fits"  # type: ignore[arg-type]
