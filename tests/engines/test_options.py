"""The value that a launch of vLLM is made of: numbers stay numbers, and what is rendered says the same."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.engines.command_line import arguments_of
from orchestrator.engines.options import Option, OptionValue
from orchestrator.engines.vllm.options import VllmOptions


def launch(**values: OptionValue) -> VllmOptions:
    named = {name.replace("_", "-"): Option(value, "playbook") for name, value in values.items()}
    model = Option("/models/m", "default")
    return VllmOptions("/env/python", "/models/m", Option(4096, "playbook"), {"model": model, **named})


@pytest.mark.parametrize(
    "value", [True, 8, 0.92, -1, "", "-x", "--trust-remote-code", "a b", ["a", "b"], {"mode": 3, "b": [1]}]
)
def test_a_command_line_and_texts_say_the_same(value: Any) -> None:
    options = launch(a_b=value, last=1)
    assert arguments_of(options.argv) == options.texts


@pytest.mark.parametrize(
    ("value", "number"),
    [(2, 2.0), (0.5, 0.5), ("0.5", 0.5), ("many", None), (True, None), ([1], None), ({}, None)]
    + [(odd, None) for odd in ("nan", "inf", "-inf", "1e400", 1e300, 10**400, "9" * 5000)],
)
def test_a_number_is_one_that_can_be_reckoned_with(value: Any, number: float | None) -> None:
    assert launch(x=value).number("x") == number
    assert launch().number("x") is None


def test_what_is_not_set_is_vllms_own() -> None:
    options = launch()
    assert (options.context, options.kv_dtype, options.context_parallel) == (4096, None, 1)
    assert (options.memory_share("0.19.1"), options.memory_share("0.20.0")) == (0.9, 0.92)
    assert (options.tensor, options.ranks, options.gpus) == (1, 1, 1)
    assert not options.sizes_its_cache


def test_what_is_set() -> None:
    options = launch(
        max_model_len="1024",
        gpu_memory_utilization=0.8,
        kv_cache_dtype="fp8",
        tensor_parallel_size=2,
        pipeline_parallel_size=3,
        data_parallel_size=5,
        decode_context_parallel_size=2,
        kv_cache_memory_bytes=2**30,
    )
    assert (options.context, options.kv_dtype, options.context_parallel) == (1024, "fp8", 2)
    assert options.memory_share("0.20.0") == 0.8
    assert (options.tensor, options.ranks, options.gpus) == (2, 6, 30)
    assert options.sizes_its_cache
    assert launch(kv_cache_dtype="auto").kv_dtype is None


def test_a_switch_that_a_remedy_sets_has_no_value() -> None:
    """vLLM's parser has one positional, the model: it would take the word after a switch for it."""
    flags = {"--enforce-eager": "true", "--compilation-config.pass_config.fuse": "true"}
    argv = launch().remedied(flags, {}).argv
    assert argv[-3:] == ("--enforce-eager", "--compilation-config.pass_config.fuse", "true")


def test_consents_are_judged_as_vllm_reads_the_command_line() -> None:
    assert list(launch(host="127.0.0.1", trust_remote="true").consents()) == ["trust-remote-code"]
    assert list(launch(host="127.0.0.1", x="--trust-remote-code").consents()) == ["trust-remote-code"]
    assert list(launch().consents()) == ["listen-openly"]


def test_what_a_version_does_not_take() -> None:
    options = launch(swap_space=4).remedied({}, {"VLLM_ATTENTION_BACKEND": "FLASHMLA"})
    assert [sentence.split()[5] for sentence in options.not_taken("0.33.0")] == [
        "--swap-space",
        "VLLM_ATTENTION_BACKEND",
    ]
