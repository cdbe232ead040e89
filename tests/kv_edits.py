"""The edits after which a checkpoint no longer asks for a quantised KV cache, as the flagship's patch makes them."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.base.data_folders import shipped
from orchestrator.checkpoint.edits import Edits, document, documents
from orchestrator.on_host.checkpoint.configs import CONFIG
from orchestrator.patches import catalogue
from orchestrator.patches.known import Known
from orchestrator.patches.propose import ways
from orchestrator.plan.change import worked_out

PATCHES = {patch.id: patch for patch in catalogue.load([shipped("patches")])}


def plan_edits(files: Mapping[str, bytes], patch: str = "fp8-kv-mla") -> Edits:
    """Raises CheckpointError as planning does; nothing to do gives no edits."""
    document(files, CONFIG)
    proposed = ways(PATCHES[patch], Known(documents=documents(files)))
    change = (
        worked_out(proposed[0], PATCHES[patch], why="forced", evidence="", configs=files)
        if proposed
        else None
    )
    return (change.edits if change else None) or Edits((), {}, {})
