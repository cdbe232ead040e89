"""Is there room on the disk for what a download will fetch? Pure."""

from __future__ import annotations

from orchestrator.base.amounts import decimal
from orchestrator.base.errors import PreflightRefused
from orchestrator.playbook.playbook import Playbook
from orchestrator.survey.survey import Survey


def disk_full(host: str, survey: Survey) -> PreflightRefused | None:
    """That the weights do not fit, where the Hub itself says how large they are and nothing of them is there."""
    there = survey.checkpoint
    # without a folder, the index is what the Hub lists
    weights = there.weights_bytes if not there.exists and there.index is not None else None
    if weights is None or there.free_bytes is None or weights <= there.free_bytes:
        return None
    return PreflightRefused(
        "disk_full",
        f"{host}: the weights are {decimal(weights)} by the Hub, {decimal(there.free_bytes)} are free for {there.folder}",
    )


def doubt(playbook: Playbook, survey: Survey) -> str | None:
    """The same by the playbook's figures, which another revision may have."""
    there, weights = survey.checkpoint, playbook.figures.weights_bytes
    known = there.index is not None or there.exists
    if known or weights is None or there.free_bytes is None or weights <= there.free_bytes:
        return None
    return (
        f"the weights are about {decimal(weights)} by the playbook's figures, {decimal(there.free_bytes)} are free for "
        f"{there.folder}: --model-dir DIR takes another disk"
    )
