"""The edits after which a checkpoint no longer asks for a quantised KV cache, as the flagship's patch makes them."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.base.data_folders import shipped
from orchestrator.checkpoint.edits import Edits, document, documents
from orchestrator.engines.vllm.kv_cache import declared
from orchestrator.on_host.checkpoint.configs import CONFIG
from orchestrator.patches import catalogue
from orchestrator.patches.known import Known
from orchestrator.patches.propose import ways
from orchestrator.plan.change import worked_out

PATCHES = {patch.id: patch for patch in catalogue.load([shipped("patches")])}


def plan_edits(files: Mapping[str, bytes], patch: str = "fp8-kv-mla") -> Edits:
    """After a launch whose log says that its KV cache was to be FP8. Raises CheckpointError as planning does; nothing to do
    gives no edits."""
    return _edits(files, patch, None, "fp8_e4m3")


def foreseen_edits(files: Mapping[str, bytes], version: str | None, patch: str = "fp8-kv-mla") -> Edits:
    """Before any launch, by what this vLLM makes of the files; raises as `plan_edits` does."""
    return _edits(files, patch, version, None)


def _edits(files: Mapping[str, bytes], patch: str, version: str | None, logged: str | None) -> Edits:
    document(files, CONFIG)
    cache_type = declared(documents(files), version)
    engine = {"kv_cache_dtype": logged or cache_type or "auto"}
    known = Known(documents=documents(files), cache_type=cache_type, engine=engine)
    proposed = ways(PATCHES[patch], known)
    change = (
        worked_out(proposed[0], PATCHES[patch], why="forced", evidence="", configs=files)
        if proposed
        else None
    )
    return (change.edits if change else None) or Edits((), {}, {})
