"""Refusals as the selectors of 32 vLLM releases wrote them for compute capability 12.0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def _read(name: str) -> list[dict[str, Any]]:
    text = (Path(__file__).parent / "selector" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


REFUSALS = _read("refusals.jsonl")
CHANGES = _read("changes.jsonl")
"""Refusals by the backends of 0.16.0 and 0.24.0 on cards of six kinds (asked without a GPU: capability faked, kernels stubbed),
with options that were given, and what trying found: the fewest of them without which the same release took a backend, each
such set with the backends that it took."""
FORCED = "Selected backend AttentionBackendEnum.{} is not valid for this configuration. Reason: {}"
"""Of a backend that was asked for, with its reasons."""
