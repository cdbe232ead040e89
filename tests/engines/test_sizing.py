"""Whether weights and KV cache fit: worked examples, and what holds for all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.engines import sizing
from orchestrator.engines.kv_cache import CacheLayers, KvCache
from orchestrator.engines.sizing import Overhead, fit
from orchestrator.engines.vllm import memory
from orchestrator.engines.vllm.memory import default_step_tokens
from tests import yaml_data

CASES: list[dict[str, Any]] = yaml_data.load(Path(__file__).parent / "cases" / "sizing.yaml")


def each_token(size: int | None, ranks: int = 1) -> KvCache | None:
    """A cache of one layer that keeps so many bytes of every token, which `ranks` share."""
    return None if size is None else KvCache((CacheLayers("full", 1, size),), context_parallel=ranks)


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
        cache=each_token(case["kv"], case.get("context_parallel", 1)),
        context=case["context"],
        utilisation=utilisation,
        overhead=Overhead(*case.get("overhead", (2.5, 5.0))),
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
    assert judged.longest_context == case["longest_context"]
    assert case.get("says", "") in judged.reason


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.10.0", 0.9),
        ("0.19.1", 0.9),
        ("0.20", 0.92),
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


@pytest.mark.parametrize(("context", "longest"), [(131072, 151760), (180000, 151760), (262144, 151760)])
def test_the_longest_context_that_fits_does_not_depend_on_the_one_asked_for(
    context: int, longest: int
) -> None:
    assert judge({**CASES[0], "context": context}).longest_context == longest


def test_no_context_is_named_where_nothing_fits_or_is_known() -> None:
    assert judge({**CASES[0], "gpus": 4}).longest_context is None
    assert judge({**CASES[0], "kv": None}).longest_context is None


@given(
    total=st.floats(1, 300),
    weights=st.integers(1, 2**42),
    kv=st.integers(1, 2**20),
    context=st.integers(1, 2**21),
    gpus=st.sampled_from([1, 2, 4, 8]),
)
def test_the_longest_context_fits(total: float, weights: int, kv: int, context: int, gpus: int) -> None:
    numbers = {
        "memory_gib": total, "weights_bytes": weights, "cache": each_token(kv), "gpus": gpus,
        "utilisation": 0.9, "overhead": Overhead(2.5, 5.0),
    }  # fmt: skip
    judged = fit(**numbers, context=context)  # type: ignore[arg-type]
    longest = judged.longest_context
    if longest is None:
        assert judged.verdict != "fits" or context < sizing.BLOCK
        return
    assert longest % sizing.BLOCK == 0
    assert fit(**numbers, context=longest).verdict == "fits"  # type: ignore[arg-type]
    assert fit(**numbers, context=longest + sizing.BLOCK).verdict != "fits"  # type: ignore[arg-type]


MIB = 2**20


def card(context: int, **other: Any) -> sizing.Fit:
    """100 GiB of which 90 may be taken, 40 by weights: 45 are left safely, 48 at best; a token takes a MiB."""
    given = {"memory_gib": 100.0, "weights_bytes": 40 * sizing.GIB, "cache": each_token(MIB), **other}
    return fit(**given, context=context, utilisation=0.9, overhead=Overhead(optimistic=2.0, safe=5.0))


def test_a_judgement_is_told_with_its_numbers_and_where_it_turns() -> None:
    assert card(45 * 1024) == sizing.Fit(
        verdict="fits",
        reason="context 46080 needs 45.0 GiB of KV cache, 45.0 GiB are left",
        context=46080,
        longest_context=46080,
        weights_gib_per_gpu=40.0,
        kv_bytes_per_token=MIB,
        needed_gib=45.0,
        safe_gib=45.0,
        optimistic_gib=48.0,
        memory_gib=100.0,
        utilisation=0.9,
        overhead=Overhead(optimistic=2.0, safe=5.0),
    )
    assert (card(45 * 1024 + 1).verdict, card(48 * 1024).verdict) == ("borderline", "borderline")
    assert card(48 * 1024).reason == (
        "context 49152 needs 48.0 GiB of KV cache, 45.0 to 48.0 GiB are left; context 46080 fits"
    )
    assert card(48 * 1024 + 1).verdict == "does_not_fit"
    assert card(64 * 1024).reason == (
        "context 65536 needs 64.0 GiB of KV cache, at most 48.0 GiB are left; context 46080 fits"
    )


def test_weights_that_leave_nothing_leave_no_context_to_name() -> None:
    full = card(16, weights_bytes=88 * sizing.GIB)
    assert (full.verdict, full.longest_context) == ("does_not_fit", None)
    assert full.reason == "the weights leave no room for a KV cache: more GPUs, or a smaller quantisation"
    tight = card(16, weights_bytes=87 * sizing.GIB)
    assert (tight.verdict, tight.longest_context) == ("borderline", None)
    assert tight.reason == "context 16 needs 0.0 GiB of KV cache, -2.0 to 1.0 GiB are left"
    assert card(16, weights_bytes=85 * sizing.GIB - 16 * MIB).longest_context == sizing.BLOCK
    assert card(16, weights_bytes=85 * sizing.GIB - 15 * MIB).longest_context is None


def test_what_is_not_known_is_named_and_the_rest_is_told() -> None:
    nothing = card(4096, memory_gib=None, weights_bytes=None, cache=None)
    assert nothing.reason == (
        "not known: the GPU's memory, the size of the weights, what a token takes of the KV cache"
    )
    partly = card(4096, memory_gib=None)
    assert (partly.verdict, partly.reason) == ("unknown", "not known: the GPU's memory")
    assert (partly.weights_gib_per_gpu, partly.kv_bytes_per_token, partly.context) == (40.0, MIB, 4096)
    half = card(4096, cache=None)
    assert (half.memory_gib, half.utilisation, half.longest_context) == (100.0, 0.9, None)


def test_a_model_over_two_ranks_pays_for_what_each_of_them_repeats() -> None:
    whole = 40 * sizing.GIB
    assert sizing.weights_gib_per_gpu(whole, gpus=1, replicated_bytes=None) == 40.0
    assert sizing.weights_gib_per_gpu(whole, gpus=2, replicated_bytes=None) == pytest.approx(20.5)
    assert sizing.weights_gib_per_gpu(whole, gpus=2, replicated_bytes=10 * sizing.GIB) == 25.0
    assert card(90 * 1024, cache=each_token(MIB, 2)).needed_gib == 45.0


def test_what_of_a_judgement_is_told_to_programs() -> None:
    fits = card(45 * 1024, weights_bytes=40 * sizing.GIB + sizing.GIB // 3)
    assert fits.as_json() == {
        "verdict": fits.verdict,
        "reason": fits.reason,
        "max_model_len": fits.longest_context,
        "weights_gib_per_gpu": 40.33,
        "kv_bytes_per_token": MIB,
        "overhead_gib": {"optimistic": 2.0, "safe": 5.0},
        "kv_gib_per_request": 45.0,
        "max_model_len_by_kv_dtype": {},
        "would_fit": [],
    }
    assert card(4096, weights_bytes=None).as_json()["weights_gib_per_gpu"] is None


def test_a_window_takes_no_more_however_long_the_request_and_says_so() -> None:
    class Window(KvCache):
        def request_bytes(self, context: int) -> int | None:
            return 10 * sizing.GIB

    behind = card(1 << 20, cache=Window((CacheLayers("window", 1, MIB, tokens=4096),)))
    assert (behind.verdict, behind.needed_gib, behind.longest_context) == ("fits", 10.0, 1 << 20)
    assert behind.kv_bytes_per_token is None
    within = card(4096, cache=Window((CacheLayers("window", 1, MIB, tokens=4096),)))
    assert within.kv_bytes_per_token == MIB


def test_a_model_that_keeps_nothing_fits_with_its_weights() -> None:
    assert (card(8192, cache=KvCache(())).verdict, card(8192, cache=KvCache(())).needed_gib) == ("fits", 0.0)


def test_a_request_that_is_not_known_leaves_the_fit_unknown_and_tells_the_token() -> None:
    class Packed(KvCache):
        def request_bytes(self, context: int) -> int | None:
            return None

    packed = card(8192, cache=Packed((CacheLayers("mla", 1, 4.5625),)))
    assert (packed.verdict, packed.kv_bytes_per_token) == ("unknown", 5)
    assert packed.reason == "not known: what a request takes of the KV cache"


@pytest.mark.parametrize(
    ("version", "memory", "card", "expected"),
    [
        ("0.32.0", 139.8, "NVIDIA H200", 8192),
        ("0.24.0", 178.0, "NVIDIA B200", 8192),
        ("0.32.0", 178.0, "NVIDIA B200", 16384),
        ("0.16.0", 79.1, "NVIDIA A100-SXM4-80GB", 2048),
        ("0.16.0", 31.4, "NVIDIA GeForce RTX 5090", 2048),
        (None, None, None, 8192),
    ],
)
def test_how_many_tokens_a_step_computes(
    version: str | None, memory: float | None, card: str | None, expected: int
) -> None:
    assert default_step_tokens(version, memory, card) == expected
