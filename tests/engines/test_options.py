"""The value that a launch of vLLM is made of: numbers stay numbers, and what is rendered says the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.engines.command_line import arguments_of
from orchestrator.engines.options import Option, OptionValue, Wanted
from orchestrator.engines.variable import Variable
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
    assert launch(mamba_ssm_cache_dtype="float16").state_dtype == "float16"


def wanted(**changes: Any) -> Wanted:
    asked = Wanted(
        python="/env/python",
        folder=Option("/models/m", "default"),
        served_name=Option("m", "default"),
        listen=Option("127.0.0.1", "default"),
        port=Option(8000, "default"),
        tensor=Option(1, "default"),
        pipeline=Option(1, "default"),
        data=Option(1, "default"),
        context=Option(4096, "playbook"),
        environment=(Variable("A", "1", "", "playbook"),),
    )
    return replace(asked, **{name: Option(value, "option") for name, value in changes.items()})


def test_vllm_has_its_own_names_for_what_is_asked() -> None:
    options = VllmOptions.of(wanted())
    assert options.argv == (
        *("/env/python", "-m", "vllm.entrypoints.openai.api_server", "--model", "/models/m"),
        *("--served-model-name", "m", "--host", "127.0.0.1", "--port", "8000", "--tensor-parallel-size", "1"),
        *("--max-model-len", "4096"),
    )
    assert (options.folder, options.sent, options.removed) == ("/models/m", {"A": "1"}, ())
    assert options.asked_context == Option(4096, "playbook")
    spread = VllmOptions.of(wanted(pipeline=2, data=3))
    assert (spread.value("pipeline-parallel-size"), spread.value("data-parallel-size")) == (2, 3)


def test_a_persons_arguments_come_last_and_win() -> None:
    asked = replace(wanted(), arguments={"seed": Option(1, "playbook"), "port": Option(1, "playbook")})
    options = VllmOptions.of(asked)
    assert (options.argv[-2:], options.value("port")) == (("--seed", "1"), 1)


def test_a_remedy_asks_for_fewer_tokens_only() -> None:
    for text, context in (("1024", 1024), ("4095", 4095), ("4096", 4096), ("4097", 4096), ("many", 4096)):
        assert launch(max_model_len=4096).remedied({"--max-model-len": text}, {}).context == context
    kept = launch(max_model_len=4096).remedied({"--max-model-len": "4096"}, {}).given["max-model-len"]
    assert kept == Option("4096", "remedy")


def test_a_remedys_variable_is_set_or_kept_from_the_engine() -> None:
    options = VllmOptions.of(wanted()).remedied({"--a_b": None, "--c": "1"}, {"A": None, "B": "2"})
    assert (options.sent, options.removed) == ({"B": "2"}, ("A",))
    assert options.given["c"] == Option("1", "remedy")
    again = options.remedied({}, {"A": "3"})
    assert (again.variable("A"), again.removed) == ("3", ())


def test_a_share_above_the_usual_leaves_more_to_others() -> None:
    card = ("0.16.0", None, 94.97, "NVIDIA RTX PRO 6000")
    usual, higher = launch().overhead(*card), launch(gpu_memory_utilization=0.95).overhead(*card)
    assert higher.safe == usual.safe + 1.0
    assert launch().taking(0.5).given["gpu-memory-utilization"] == Option(0.5, "option")


def test_code_in_the_models_folder_needs_the_consent_and_other_code_is_named() -> None:
    inside = launch(host="::1", tool_parser_plugin="/models/m/parser.py")
    assert list(inside.consents()) == ["trust-remote-code"]
    assert launch(host="::1", tool_parser_plugin="/opt/parser.py").consents() == {}
    assert launch(tokenizer="org/other").code_beside() == ("org/other",)
    assert launch(tokenizer="/models/m").code_beside() == ()


def test_a_switch_that_a_remedy_sets_has_no_value() -> None:
    """vLLM's parser has one positional, the model: it would take the word after a switch for it."""
    flags = {"--enforce-eager": "true", "--compilation-config.pass_config.fuse": "true"}
    argv = launch().remedied(flags, {}).argv
    assert argv[-3:] == ("--enforce-eager", "--compilation-config.pass_config.fuse", "true")


def test_consents_are_judged_as_vllm_reads_the_command_line() -> None:
    assert list(launch(host="127.0.0.1", trust_remote="true").consents()) == ["trust-remote-code"]
    assert list(launch(host="127.0.0.1", x="--trust-remote-code").consents()) == ["trust-remote-code"]
    assert list(launch().consents()) == ["listen-openly"]
