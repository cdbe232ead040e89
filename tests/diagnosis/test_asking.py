"""Whether an answer begins with what the failure's own sentence asks for."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.diagnosis.verdict import Diagnosis, Finding, Remedy, RootCause
from orchestrator.patches.proposal import ProposedAction
from tests.diagnosis.asking import unheeded

FINDING = Finding(patch="mine", category="other", title="", explanation="", confidence="certain")


def answered(cause: str, *, advice: tuple[str, ...] = (), **action: Any) -> Diagnosis:
    actions = (ProposedAction(**action),) if action else ()
    return Diagnosis(
        verdict="fault",
        root_cause=RootCause(text=cause, line=1, process=None, exception=None),
        finding=FINDING,
        remedy=Remedy(automatic=bool(actions), actions=actions, advice=advice),
    )


@pytest.mark.parametrize(
    ("cause", "asked"),
    [
        ("Set VLLM_USE_V2_MODEL_RUNNER=0 to use this model.", {"vllm_use_v2_model_runner"}),
        ("Please pass --disable-hybrid-kv-cache-manager when starting", {"disable_hybrid_kv_cache_manager"}),
        ("Try increasing `gpu_memory_utilization`.", {"gpu_memory_utilization"}),
        ("Install it via `pip install -U xxhash`.", {"xxhash"}),
        ("Consider reducing tensor_parallel_size.", {"tensor_parallel_size"}),
        ("No backend with Config(head_size=64). Reasons: {A: [sink setting not supported], FLEX_ATTENTION: []}", set()),
        ("For debugging consider passing CUDA_LAUNCH_BLOCKING=1", set()),
        ("it must be enabled to set max_num_partial_prefills", set()),
    ],
)  # fmt: skip
def test_what_a_sentence_asks_for_by_name(cause: str, asked: set[str]) -> None:
    assert unheeded(answered(cause, advice=("Do something else.",)), ()) == asked


def test_an_action_the_beginning_of_the_advice_or_a_reason_against_it_will_do() -> None:
    cause = "Re-run with --max-model-len 4096."
    assert unheeded(answered(cause, kind="flag", name="--max-model-len", op="set", value="4096"), ()) == set()
    assert unheeded(answered(cause, advice=("Lower --max-model-len.",)), ()) == set()
    assert unheeded(answered(cause, advice=("More cards.", "Or lower --max-model-len.")), ()) == {
        "max_model_len"
    }
    assert unheeded(answered(cause), ("--max-model-len, which hides it",)) == set()
