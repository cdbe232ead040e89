"""What an exception says itself: whether it is a sentence of whoever raised it, and what it asks for."""

from __future__ import annotations

from dataclasses import replace
from posixpath import normpath

import pytest

from orchestrator.diagnosis.incident import Frame, IncidentRole, Raised
from orchestrator.diagnosis.own_words import asked_for, decided, left_out, refused_in, speaks, without_frame
from orchestrator.engines.sglang.log.grammar import GRAMMAR as SGLANG
from orchestrator.engines.vllm.log.grammar import GRAMMAR as VLLM

ENGINE = "/opt/venv/lib/python3.12/site-packages/vllm/"


def raised(text: str, *files: str, role: IncidentRole = "initiating") -> Raised:
    frames = tuple(Frame(ENGINE + file, 7, "f") for file in files)
    return Raised(text.partition(":")[0], text, 9, frames, role=role)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ValueError: The head size must be a multiple of 8", True),
        ("vllm.x.ValueError: only one of them can be given", True),
        ("KeyError: the name of this layer is not found", False),  # a look-up
        ("AssertionError: the sizes must be alike here", True),
        ("Exception: Failed to connect to the ledger at http://ledger:2379", True),
        ("Exception: the ledger went for a walk", False),
        ("AssertionError: sizes 3 vs 4", False),
        ("TypeError: open() got an unexpected keyword argument 'copy'", True),
        ("TypeError: unhashable type", False),
        ("AttributeError: module 'triton.language' has no attribute 'make_descriptor'", True),
        ("AttributeError: 'NewModelConfig' object has no attribute 'head_dim'", True),
        ("AttributeError: 'NewTokenizerFast' object has no attribute 'chat_template'", True),
        ("AttributeError: 'NewForCausalLM' object has no attribute 'score'", False),  # a mistake in code
        ("AttributeError: 'NoneType' object has no attribute 'shape'", False),
        ("ImportError: cannot import name 'a' from 'b'", True),
        ("LedgerDesync: the epoch must be that of the ledger", False),  # a plug-in's own
        ("ValueError: bad value", False),
        ("RuntimeError: the ledger went for a long walk", False),  # nothing that is refused
        ("OSError: [Errno 36] File name too long: 'x' is not valid", False),
        ('RuntimeError: dispatcher("aten::empty", 4) API call failed at x.cpp, line 7', False),
    ],
)  # fmt: skip
def test_a_refusal_is_a_sentence_of_one_of_pythons_own_exceptions(text: str, says: bool) -> None:
    assert speaks(raised(text)) is says


def test_a_wrapper_says_nothing_itself() -> None:
    text = "RuntimeError: Engine core initialization failed. See root cause above."
    assert not speaks(raised(text, role="cascade"))


@pytest.mark.parametrize(
    ("files", "where"),
    [
        (["v1/engine/core.py", "model_executor/layers/quantization/awq.py"], True),
        (["model_executor/layers/quantization/awq.py", "_custom_ops.py", "../torch/_ops.py"], True),  # they hand on
        (["model_executor/layers/quantization/awq.py", "model_executor/models/llama.py"], False),
        ([], False),
    ],
)  # fmt: skip
def test_it_was_raised_by_the_innermost_file_that_does_more_than_hand_on(
    files: list[str], where: bool
) -> None:
    refusal = raised("RuntimeError: size_k is not divisible by the groups", *files)
    assert refused_in(refusal, ("*/fused_moe/*", "*/quantization/*")) is where


@pytest.mark.parametrize(
    ("files", "where"),
    [
        (["v1/engine/core.py", "../kvbox/integration/vllm/hooks.py"], False),  # in a folder of the engine's name
        (["v1/engine/core.py", "../kvbox/integration/vllm/hooks.py", "../kvbox/blend/models.py"], False),
        (["v1/engine/core.py", "../kvbox/blend/models.py"], True),  # a library that the engine calls
        (["../kvbox/integration/vllm/hooks.py", "v1/engine/core.py"], True),
    ],
)  # fmt: skip
def test_a_package_that_puts_itself_into_the_engine_refuses_nothing_for_it(
    files: list[str], where: bool
) -> None:
    refusal = raised("ValueError: the shape (7, 2) is not supported", *files)
    refusal = replace(refusal, frames=tuple(Frame(normpath(at.file), 7, "f") for at in refusal.frames))
    assert refused_in(refusal, ("*/vllm/*", "*/site-packages/*")) is where


def test_of_a_build_the_line_decides_with_which_its_compiler_ends() -> None:
    build = "RuntimeError: build failed. Output:\n[1/2] nvcc -c a.cu\na.cu:5:1: fatal error: b.h: No such file\nninja: stopped"
    assert decided(build) == "RuntimeError: build failed. Output:\na.cu:5:1: fatal error: b.h: No such file"
    assert decided("ValueError: no build\nat all") == "ValueError: no build\nat all"


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("ValueError: too small. Please increase --max-num-seqs (or lower it). It was 7.", "Please increase --max-num-seqs (or lower it)"),
        ("ImportError: x is missing. Install it with `pip install x`", "Install it with `pip install x`"),
        ("ValueError: To allow this, set the env var VLLM_ALLOW=1. You may set VLLM_B=2 now", "set the env var VLLM_ALLOW=1"),
        ("ValueError: wrong.\nTry --dtype half or another card.", "Try --dtype half or another card"),
        ("ValueError: a setting is not valid here", None),
        ("ValueError: Set " + "x" * 350, None),
    ],
)  # fmt: skip
def test_what_a_message_asks_for_is_quoted_as_it_is(text: str, asked: str | None) -> None:
    assert asked_for(text) == asked


def test_it_is_told_where_it_names_what_is_not_told_anyway() -> None:
    assert left_out("Please increase --max-num-seqs", "lower --max-model-len")
    assert not left_out("Please increase --max-num-seqs", "set --max-num-seqs 64")
    assert left_out("Set VLLM_X_Y=1", "") and left_out("pip install kernels>=0.4", "pip install x")
    assert not left_out("Please report it to the authors", "")


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        (
            "pydantic_core._pydantic_core.ValidationError: 1 validation error for VllmConfig\n  Value error, no room [type=value_error, input_value=ArgsKwargs((), {'a': [1]}), input_type=ArgsKwargs]\n    For further information visit https://errors.pydantic.dev/2.12/v/value_error",
            "pydantic_core._pydantic_core.ValidationError: VllmConfig: Value error, no room",
        ),
        (
            "ValidationError: 2 validation errors for X\nport\n  Input should be a valid integer [type=int, input_value='a', input_type=str]\n    For further information visit https://e\nhost\n  Field required [type=missing, input_value={}, input_type=dict]",
            "ValidationError: X: port\n  Input should be a valid integer\nhost\n  Field required",
        ),
        ("ValueError: 1 validation error for X\nno", "ValueError: 1 validation error for X\nno"),
    ],
)  # fmt: skip
def test_what_pydantic_puts_around_a_sentence_is_left_out(text: str, bare: str) -> None:
    assert without_frame(text, VLLM.failures) == bare


def test_what_is_appended_to_every_exception_of_a_kind_is_none_of_its_reason() -> None:
    solutions = (
        "\nPossible solutions:\n1. set --mem-fraction-static to a smaller value\nOpen an issue on GitHub"
    )
    text = f"Exception: Capture cuda graph failed: a kernel is missing{solutions} "
    assert without_frame(text, SGLANG.failures) == "Exception: Capture cuda graph failed: a kernel is missing"
    assert without_frame(text, VLLM.failures) == text.rstrip()
    of_torch = (
        "AcceleratorError: CUDA error: no kernel image\nSearch for `cudaErrorNoKernelImage' in https://docs.nvidia.com/x.html for more information.\n"
        "CUDA kernel errors might be asynchronously reported at some other API call.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
    )
    assert without_frame(of_torch, VLLM.failures) == "AcceleratorError: CUDA error: no kernel image"
