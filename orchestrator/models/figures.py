"""What of a model's files does its playbook keep, so that it is planned where they are not? Pure."""

from __future__ import annotations

import json
import math
from typing import Any

from orchestrator.checkpoint.edits import documents
from orchestrator.on_host.checkpoint.configs import CONFIG
from orchestrator.playbook.playbook import Playbook
from orchestrator.survey.checkpoint import Checkpoint

_OF_NO_CACHE = ("quantization_config", "compression_config", "vision_config", "audio_config", "auto_map")
"""Members of config.json by which no token of context costs more or less; some are longer than all others together."""
_LONGEST_TEXT, _MOST_ITEMS = 200, 1000


def figured(playbook: Playbook, checkpoint: Checkpoint, version: str | None) -> Playbook:
    """The playbook with what the checkpoint's files say as its figures; what an option set stays."""
    if CONFIG not in checkpoint.configs:
        return playbook
    declared = playbook.kind.cache_type.declared(documents(checkpoint.configs), version) or ""
    values = {
        "weights_bytes": checkpoint.weights_bytes,
        "shards": checkpoint.shards,
        "kv_cache": "bf16" if declared == "auto" else "fp8" if declared.startswith("fp8") else None,
        "config": _plain(json.loads(checkpoint.configs[CONFIG])),
    }
    return playbook.completed(
        {("figures", name): value for name, value in values.items() if value is not None}
    )


def _plain(value: Any) -> Any:
    """The same without what decides nothing, and what has no place in a file that people read: somebody else wrote it."""
    if isinstance(value, dict):
        return {
            name: _plain(item) for name, item in value.items() if _decides(name) and _is_plain(name, item)
        }
    return [_plain(item) for item in value if _is_plain(item)] if isinstance(value, list) else value


def _decides(name: str) -> bool:
    return name not in _OF_NO_CACHE and not name.endswith(("_token_id", "_token_index"))


def _is_plain(*values: Any) -> bool:
    return all(
        value.isprintable() and len(value) <= _LONGEST_TEXT if isinstance(value, str)
        else len(value) <= _MOST_ITEMS if isinstance(value, list)
        else math.isfinite(value) if isinstance(value, float)
        else abs(value) < 1 << 63 if isinstance(value, int)
        else True
        for value in values
    )  # fmt: skip
