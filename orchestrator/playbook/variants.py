"""What may differ where a playbook's model is there in another form?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from orchestrator.base.consents import Consent
from orchestrator.engines.options import OptionValue
from orchestrator.playbook.parts import (
    CheckpointSettings,
    Citation,
    ContextLength,
    Count,
    EngineSettings,
    Figures,
    Model,
    Needs,
    Parallel,
    PlaybookPart,
)
from orchestrator.playbook.setting import Setting


class Variant(PlaybookPart):
    """What differs from the file that it stands in, key by key; `sources` come to those of the file."""

    description: str = ""
    model: Model
    checkpoint: CheckpointSettings = CheckpointSettings()
    engine: EngineSettings = EngineSettings()
    parallel: Parallel = Parallel()
    context: ContextLength | None = None
    arguments: dict[str, OptionValue] = Field({})
    environment: dict[str, Setting] = Field({})
    needs: Needs = Needs()
    consents: tuple[Consent, ...] = ()
    figures: Figures = Figures()
    ready_timeout: Count | None = None
    sources: tuple[Citation, ...] = ()


_OF_THE_FILES = ("weights_bytes", "replicated_bytes", "shards", "kv_cache")
"""Figures of one form of a model: another has others, or they are not known."""
_STORED = "quantization_config"


def merged(base: Mapping[str, Any], variant: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a variant: what it states in place of what the file does, mappings key by key."""
    shape = {key: value for key, value in base.get("figures", {}).items() if key not in _OF_THE_FILES}
    if "config" in shape:
        shape["config"] = {key: value for key, value in shape["config"].items() if key != _STORED}
    return _laid_over({**base, **({"figures": shape} if shape else {})}, variant)


def _laid_over(base: Mapping[str, Any], variant: Mapping[str, Any]) -> dict[str, Any]:
    whole = dict(base)
    for key, value in variant.items():
        there = whole.get(key)
        if isinstance(there, Mapping) and isinstance(value, Mapping):
            whole[key] = _laid_over(there, value)
        elif key == "sources":
            whole[key] = (*(there or ()), *value)
        else:
            whole[key] = value
    return whole
