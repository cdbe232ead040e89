"""Which least change would leave a kernel for a quantised linear layer, by the reasons that the kernels give."""

from __future__ import annotations

import pytest

from orchestrator.engines.vllm.log.grammar import GRAMMAR

HEAD = "Failed to find a kernel that can implement the {} linear layer. Reasons: \n"
TURING = (
    "CutlassW4A8LinearKernel requires capability 90, current compute  capability is 75",
    " MarlinLinearKernel cannot implement due to: Quant type (ScalarType.uint4b8) not supported by  Marlin, supported types are: []",
    " ConchLinearKernel cannot implement due to: conch-triton-kernels is not installed, please install it via `pip install conch-triton-kernels` and try again!",
)
EXLLAMA = " ExllamaLinearKernel cannot implement due to: Exllama only supports float16 activations"
DISABLED = " TritonInt8ScaledMMLinearKernel is disabled by environment variable"
DIVIDED = " MacheteLinearKernel cannot implement due to: K=1824 must be divisible by 128."


@pytest.mark.parametrize(
    ("reasons", "arguments", "settings", "sentence"),
    [
        (TURING, {}, ("package",), "For ConchLinearKernel: pip install conch-triton-kernels."),
        ((*TURING, EXLLAMA), {}, ("linear_dtype",), "For ExllamaLinearKernel: set --dtype half."),
        (
            (*TURING, EXLLAMA, DISABLED),
            None,
            ("disabled_kernels",),
            "For TritonInt8ScaledMMLinearKernel: take TritonInt8ScaledMMLinearKernel out of VLLM_DISABLED_KERNELS.",
        ),
        (
            ("FlashInferCutlassNvFp4LinearKernel: requires compute capability 10.0 or 12.0",),
            {"linear_backend": "flashinfer_cutlass"},
            ("linear_backend",),
            "For the kernels that were not asked: leave --linear-backend away, since no other kernel was asked.",
        ),
        (
            (*TURING[:2], DIVIDED),
            {"tensor_parallel_size": "8"},
            ("tensor_parallel_size",),
            "For MacheteLinearKernel: set another --tensor-parallel-size, since cannot implement due to: K=1824 must be divisible by 128.",
        ),
        ((DIVIDED,), {}, (), "No option changes what the kernels object to: MacheteLinearKernel (cannot implement due to: K=1824 must be divisible by 128)."),
        (TURING[:1], None, (), "No option changes what the kernels object to: CutlassW4A8LinearKernel (requires capability 90, current compute  capability is 75)."),
    ],
)  # fmt: skip
def test_the_least_change_is_the_one_that_costs_least(
    reasons: tuple[str, ...], arguments: dict[str, str] | None, settings: tuple[str, ...], sentence: str
) -> None:
    refusal = GRAMMAR.refusal(HEAD.format("WNA16") + "\n".join(reasons))
    assert refusal is not None and len(refusal.reasons) == len(reasons)
    change = GRAMMAR.least_change(refusal, arguments)
    assert change is not None
    assert (change.settings, change.sentence) == (settings, sentence)


def test_a_list_without_reasons_says_nothing() -> None:
    refusal = GRAMMAR.refusal(HEAD.format("MXFP4"))
    assert refusal is not None and refusal.layer == "MXFP4"
    assert GRAMMAR.least_change(refusal, {}) is None
