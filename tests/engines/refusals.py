"""Refusals as the selectors of 32 vLLM releases wrote them for compute capability 12.0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

REFUSALS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "selector" / "refusals.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
FORCED = "Selected backend AttentionBackendEnum.{} is not valid for this configuration. Reason: {}"
"""Of a backend that was asked for, with its reasons."""
