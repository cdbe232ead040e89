"""What a release takes where an option is not given."""

from __future__ import annotations

import pytest

from orchestrator.engines.vllm.defaults import default, moved
from orchestrator.engines.vllm.releases import table


@pytest.mark.parametrize(
    ("name", "version", "memory_gib", "card", "value", "since", "before"),
    [
        ("gpu-memory-utilization", "0.19.1", None, None, 0.9, "0.10.0", None),
        ("gpu-memory-utilization", "0.20.0", None, None, 0.92, "0.20.0", 0.9),
        ("gpu-memory-utilization", "0.34.0", None, None, 0.92, "0.20.0", 0.9),
        ("gpu-memory-utilization", None, None, None, 0.9, "0.10.0", None),
        ("gpu-memory-utilization", "dev", None, None, 0.9, "0.10.0", None),
        ("gpu-memory-utilization", "0.9.2", None, None, 0.9, "0.10.0", None),
        ("max-num-batched-tokens", "0.16.0", 79.1, "NVIDIA H100 80GB HBM3", 8192, "0.10.0", None),
        ("max-num-batched-tokens", "0.33.0", 79.1, "NVIDIA H100 80GB HBM3", 8192, "0.10.0", None),
        ("max-num-batched-tokens", "0.27.1", 178.0, "NVIDIA B200", 8192, "0.10.0", None),
        ("max-num-batched-tokens", "0.28.0", 178.0, "NVIDIA B200", 16384, "0.28.0", 8192),
        ("max-num-batched-tokens", "0.33.0", 178.0, "NVIDIA B200", 16384, "0.28.0", 8192),
        ("max-num-batched-tokens", "0.33.0", 79.1, "NVIDIA A100-SXM4-80GB", 2048, "0.10.0", None),
        ("max-num-batched-tokens", "0.32.0", 119.0, "NVIDIA GB10", 8192, "0.10.0", None),
        ("max-num-batched-tokens", "0.33.0", 119.0, "NVIDIA GB10", 2048, "0.33.0", 8192),
        ("max-num-batched-tokens", "0.24.0", 23.5, "NVIDIA L4", 2048, "0.10.0", None),
        ("max-num-batched-tokens", "0.24.0", None, None, 8192, "0.10.0", None),
        ("max-num-seqs", "0.24.0", 44.0, "NVIDIA L40S", 256, "0.10.0", None),
        ("max-num-seqs", "0.33.0", 119.0, "NVIDIA GB10", 256, "0.33.0", 1024),
        ("async-scheduling", "0.13.0", None, None, "off", "0.10.0", None),
        ("async-scheduling", "0.14.0", None, None, "on where it works", "0.14.0", "off"),
        ("VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS", "0.24.0", None, None, 1, "0.20.0", 0),
    ],
)  # fmt: skip
def test_a_default(
    name: str,
    version: str | None,
    memory_gib: float | None,
    card: str | None,
    value: float | str,
    since: str,
    before: float | str | None,
) -> None:
    read = default(name, version, memory_gib, card)
    assert (read.value, read.since, read.before) == (value, since, before)


def test_what_has_moved_and_is_not_overridden() -> None:
    assert [each.name for each in moved((), "0.16.0", 94.0, "RTX PRO 6000")] == ["async-scheduling"]
    sentences = [each.sentence for each in moved(("async-scheduling",), "0.28.0", 178.0, "B200")]
    assert sentences[:2] == [
        "gpu-memory-utilization 0.92 (0.9 before 0.20.0)",
        "max-num-batched-tokens 16384 (8192 before 0.28.0)",
    ]
    names = [each.name for each in moved((), "0.10.2", 94.0, "RTX PRO 6000")]
    assert names == []


def test_what_has_a_default_is_an_option_or_a_variable_that_vllm_reads() -> None:
    known = {**table("options.json")["options"], **table("variables.json")["variables"]}
    assert table("defaults.json")["defaults"].keys() <= known.keys()
