"""Which refusals of an attention selector a patch takes for its own, and which it leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.diagnosis.incident import Incident, Raised
from orchestrator.diagnosis.launches import LaunchLog
from orchestrator.diagnosis.matching import recognise
from orchestrator.diagnosis.remarks import Watched
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.patches import catalogue, propose
from orchestrator.patches.known import Known
from tests.engines.refusals import CHANGES, FORCED, REFUSALS
from tests.of_each import of_each

ALL = tuple(catalogue.load([shipped("patches")]))
PATCHES = tuple(p for p in ALL if p.id == "fp8-kv-mla")
LAUNCH = LaunchLog(GRAMMAR, Watched())


def incident(text: str, exception: str = "ValueError") -> Incident:
    raised = Raised(exception, text, 1)
    return Incident("exception", "initiating", "Worker_TP0", 1, "ERROR", "", (raised,), 1, 1, 1)


@of_each(REFUSALS, lambda r: f"{r['vllm']}-{r['kv_cache_dtype']}-{r['head_size']}")
def test_the_patch_takes_dense_mla_with_a_quantised_kv_cache_alone(refusal: dict[str, Any]) -> None:
    wanted = (
        refusal["mla"] and not refusal["sparse"] and refusal["kv_cache_dtype"].startswith(("fp8", "nvfp4"))
    )
    assert (recognise(PATCHES, incident(refusal["text"]), LAUNCH, Known()) is not None) == wanted


@pytest.mark.parametrize(
    ("backend", "reasons", "dtype", "taken"),
    [
        ("TRITON_MLA", "['kv_cache_dtype not supported']", "fp8_e4m3", True),
        ("FLASH_ATTN_MLA", "['kv_cache_dtype not supported']", "nvfp4", True),
        ("TRITON_MLA", "['kv_cache_dtype not supported']", "bfloat16", False),
        ("TRITON_MLA", "['kv_cache_dtype not supported']", None, False),
        ("FLASHMLA", "['kv_cache_dtype not supported', 'compute capability not supported']", "fp8", False),
        ("FLASHMLA_SPARSE", "['kv_cache_dtype not supported']", "fp8", False),
        ("FLASHINFER_MLA_SPARSE_SM120", "['kv_cache_dtype not supported']", "fp8", False),
        ("FLASHINFER", "['kv_cache_dtype not supported']", "fp8", False),
    ],
)
def test_the_patch_and_forced_backends(backend: str, reasons: str, dtype: str | None, taken: bool) -> None:
    known = Known(engine={"kv_cache_dtype": dtype} if dtype else {})
    found = recognise(PATCHES, incident(FORCED.format(backend, reasons)), LAUNCH, known)
    assert (found is not None) == taken


@of_each(CHANGES, lambda c: f"{c['vllm']}-{c['compute_cap']}-{c['name']}")
def test_no_patch_changes_what_would_not_do(case: dict[str, Any]) -> None:
    """What is set or left away is one of the settings without which the same release took a backend, and no other; of sparse
    attention people are advised alone."""
    known = Known("vllm", case["vllm"], case["compute_cap"], arguments=case["arguments"])
    found = recognise(ALL, incident(case["text"]), LAUNCH, known)
    assert found is not None
    ways = propose.ways(found.patch, replace(known, groups=found.groups))
    changed = {
        (action.name or "").removeprefix("--").replace("-", "_") for way in ways[:1] for action in way.actions
    }
    alone = {settings[0] for settings, _ in case["takes"] if len(settings) == 1}
    assert changed <= alone and len(changed) <= 1
    assert bool(changed) == bool(alone) or "use_sparse=True" in case["text"]
