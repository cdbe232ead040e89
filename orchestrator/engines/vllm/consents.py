"""Which of vLLM's options ask for a consent?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator.engines.command_line import abbreviates, leaves, options
from orchestrator.engines.consents import OFF, ConsentRules

_CODE = (
    "tool-parser-plugin", "reasoning-parser-plugin", "io-processor-plugin", "logits-processors", "middleware", "worker-cls",
    "worker-extension-cls", "scheduler-cls", "model-class-overrides", "kv-transfer-config", "ec-transfer-config",
    "structured-outputs-config", "compilation-config", "distributed-executor-backend",
)  # fmt: skip


def _publishes(argv: Sequence[str]) -> str:
    """vLLM publishes KV events at tcp://*:5557 where no endpoint is named (config/kv_events.py)."""
    events: dict[str, Any] = {}
    for name, value in options(argv):
        head = name.partition(".")[0]
        if head and abbreviates(head, "kv-events-config"):
            events.update((keys[0], leaf) for keys, leaf in leaves(name, value) if keys)
    enabled = str(events.get("enable_kv_cache_events", "")).lower() not in (*OFF, "none")
    open_to_all = enabled and "endpoint" not in events and events.get("publisher") != "null"
    return "--kv-events-config without an endpoint" if open_to_all else ""


RULES = ConsentRules(code=_CODE, publishes=_publishes)
