"""Which least change would leave a backend without an objection, by the lists of real selectors."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.engines.log_grammar import LeastChange
from orchestrator.engines.vllm.log import selector
from orchestrator.engines.vllm.log.least_change import least_change
from tests.engines.refusals import CHANGES, FORCED, REFUSALS
from tests.of_each import of_each


def reckon(text: str, arguments: dict[str, str] | None) -> LeastChange:
    refusal = selector.parse(text)
    assert refusal is not None
    change = least_change(refusal, arguments)
    assert change is not None
    return change


@of_each(CHANGES, lambda c: f"{c['vllm']}-{c['compute_cap']}-{c['name']}")
def test_it_is_one_that_the_release_itself_takes(case: dict[str, Any]) -> None:
    change = reckon(case["text"], case["arguments"])
    takes = {tuple(settings): backends for settings, backends in case["takes"]}
    assert change.settings in takes or (not takes and not change.settings)
    assert set(change.backends) <= set(takes.get(change.settings, ()))


@of_each(REFUSALS, lambda r: f"{r['vllm']}-{r['kv_cache_dtype']}-{r['head_size']}")
def test_on_compute_capability_12_it_is_the_kv_dtype_or_nothing(refusal: dict[str, Any]) -> None:
    change = reckon(refusal["text"], {"kv_cache_dtype": refusal["kv_cache_dtype"]})
    assert change.settings == (() if refusal["sparse"] else ("kv_cache_dtype",))
    assert refusal["sparse"] or not refusal["mla"] or change.backends == ("TRITON_MLA",)


PLAIN = "No valid attention backend found for cuda with AttentionSelectorConfig({}, use_sparse={}). Reasons: {{{}}}."


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"kv_cache_dtype": "fp8"}, "leave --kv-cache-dtype away"),
        ({}, "the checkpoint asks for it"),
        (None, "leave --kv-cache-dtype away, or, where the checkpoint asks for it"),
    ],
)
def test_an_option_is_left_away_before_files_are_edited(arguments: dict[str, str] | None, told: str) -> None:
    text = PLAIN.format("kv_cache_dtype=fp8", False, "TRITON_ATTN: [kv_cache_dtype not supported]")
    change = reckon(text, arguments)
    assert change.sentence.startswith(f"TRITON_ATTN objects to kv_cache_dtype=fp8 alone: {told}")


def test_what_was_given_goes_before_what_the_checkpoint_asks_for() -> None:
    reasons = "A: [kv_cache_dtype not supported], B: [dtype not supported]"
    text = PLAIN.format("dtype=torch.float32, kv_cache_dtype=fp8", False, reasons)
    assert reckon(text, {"dtype": "float32"}).settings == ("dtype",)
    assert reckon(text, {"kv_cache_dtype": "fp8"}).settings == ("kv_cache_dtype",)


def test_a_sparse_model_keeps_the_kv_dtype_of_its_checkpoint() -> None:
    text = PLAIN.format("kv_cache_dtype=fp8", True, "A_SPARSE: [kv_cache_dtype not supported]")
    assert reckon(text, {}).settings == ()
    assert reckon(text, {"kv_cache_dtype": "fp8"}).settings == ("kv_cache_dtype",)


def test_a_block_size_that_nobody_gave_is_not_taken_back() -> None:
    text = PLAIN.format("block_size=528", False, "TRITON_ATTN: [block_size not supported]")
    assert reckon(text, {}).settings == ()
    assert reckon(text, {"block_size": "528"}).settings == ("block_size",)


def test_a_backend_for_quantised_caches_alone_is_not_won_by_taking_quantisation_away() -> None:
    reasons = "TRITON_ATTN: [head_size not supported], TURBOQUANT: [kv_cache_dtype not supported]"
    change = reckon(PLAIN.format("kv_cache_dtype=fp8", False, reasons), {"kv_cache_dtype": "fp8"})
    assert change.settings == ()


def test_what_is_told_names_the_nearest_where_no_change_would_do() -> None:
    reasons = "A: [head_size not supported, compute capability not supported], B: [sparse not supported, block_size not supported]"
    change = reckon(PLAIN.format("block_size=20", True, reasons), {"block_size": "20"})
    assert change == LeastChange(
        (), (), "No option or config key changes what the nearest object to: B (sparse not supported)."
    )


def test_two_that_must_change_together_are_told_so() -> None:
    reasons = "A: [dtype not supported, block_size not supported]"
    text = PLAIN.format("dtype=torch.float32, block_size=20", False, reasons)
    told = reckon(text, {"dtype": "float32", "block_size": "20"}).sentence
    assert "together, so that no single change will do" in told
    assert "--block-size" in told and "--dtype" in told


def test_a_backend_that_was_forced_has_no_list() -> None:
    refusal = selector.parse(FORCED.format("TRITON_MLA", "['kv_cache_dtype not supported']"))
    assert refusal is not None and least_change(refusal, {}) is None
