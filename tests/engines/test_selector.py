"""What the selectors of 32 vLLM releases refused for compute capability 12.0, read back."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.engines.vllm.log import selector
from tests.engines.refusals import FORCED, REFUSALS
from tests.of_each import of_each


@of_each(REFUSALS, lambda r: f"{r['vllm']}-{r['kv_cache_dtype']}-{r['head_size']}")
def test_what_was_asked_for_is_read_back(refusal: dict[str, Any]) -> None:
    found = selector.parse(refusal["text"])
    assert found is not None
    assert found.device == "cuda"
    assert found.forced is None
    assert found.config["kv_cache_dtype"] == refusal["kv_cache_dtype"]
    assert found.config["head_size"] == str(refusal["head_size"])
    assert found.config["use_mla"] == str(refusal["mla"])
    assert found.config["use_sparse"] == str(refusal["sparse"])
    assert ("TRITON_MLA" in found.reasons) == refusal["mla"]
    assert all(reason and "[" not in reason for reasons in found.reasons.values() for reason in reasons)


def test_there_are_refusals_to_take_and_to_leave() -> None:
    assert len({refusal["vllm"] for refusal in REFUSALS}) >= 25
    assert {refusal["sparse"] for refusal in REFUSALS} == {True, False}
    assert {refusal["mla"] for refusal in REFUSALS} == {True, False}


def test_a_reason_may_hold_commas_and_periods() -> None:
    own = (
        "vllm._flashmla_C is not available, likely was not compiled due to insufficient nvcc version or a supported"
        " arch was not in the list of target arches to compile for."
    )
    found = selector.parse(
        "No valid attention backend found for cuda with AttentionSelectorConfig(head_size=576, use_mla=True)."
        f" Reasons: {{FLASHMLA: [compute capability not supported, {own}], FLASHINFER_MLA: [ImportError],"
        " TRITON_MLA: [kv_cache_dtype not supported]}."
    )
    assert found is not None
    assert found.reasons == {
        "FLASHMLA": ("compute capability not supported", own),
        "FLASHINFER_MLA": ("ImportError",),
        "TRITON_MLA": ("kv_cache_dtype not supported",),
    }


def test_a_sentence_that_ends_in_a_known_reason_is_one_reason() -> None:
    found = selector.parse(
        "No valid attention backend found for cuda with head_size: 576, use_mla: True."
        " Reasons: {A_MLA: [FP8 KV cache requires FA3, FA4 with head_size=512 on SM90, or FA4 on SM100, sparse not supported]}."
    )
    assert found is not None
    assert found.reasons["A_MLA"] == (
        "FP8 KV cache requires FA3, FA4 with head_size=512 on SM90, or FA4 on SM100",
        "sparse not supported",
    )


def test_a_forced_backend() -> None:
    found = selector.parse(
        FORCED.format("TRITON_MLA", "['kv_cache_dtype not supported', \"it's, so to say, no\"]")
    )
    assert found is not None
    assert found.forced == "TRITON_MLA"
    assert found.reasons == {"TRITON_MLA": ("kv_cache_dtype not supported", "it's, so to say, no")}


def test_anything_else_is_no_refusal() -> None:
    assert selector.parse("Some attention backends are not valid for cuda with X. Reasons: {A: [b]}.") is None
    assert selector.parse("") is None


@pytest.mark.parametrize("reasons", ["", "TRITON_MLA", "TRITON_MLA: ", ", ", "triton: [x]", "]"])
def test_a_refusal_without_a_backend_names_none(reasons: str) -> None:
    """As a log that was cut, or that two processes wrote at once, has it; found by fuzzing."""
    text = f"No valid attention backend found for cuda with AttentionSelectorConfig(head_size=576). Reasons: {{{reasons}}}."
    found = selector.parse(text)
    assert found is not None and found.reasons == {}


@of_each(REFUSALS, lambda r: f"{r['vllm']}-{r['kv_cache_dtype']}-{r['head_size']}")
def test_in_brief_it_is_what_decides(refusal: dict[str, Any]) -> None:
    brief = selector.brief(refusal["text"])
    assert brief is not None
    head, *rest = brief.split(" ... ")
    assert head.endswith("No valid attention backend found for cuda")
    assert all(word.startswith(("kv_cache_dtype=", "head_size=")) or ": [" in word for word in rest)
    assert len(brief) < len(refusal["text"])
    assert "compute capability" not in brief and "Config" not in brief


@pytest.mark.parametrize("text", ["", "OddError: word " * 99, FORCED])
def test_what_has_no_brief_form(text: str) -> None:
    assert selector.brief(text) is None
