"""What is known of a launch before it is one: by the facts, the checkpoint's config files and the options?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from orchestrator.checkpoint.edits import documents
from orchestrator.engines.kv_cache import CacheQuestion
from orchestrator.engines.options import Options
from orchestrator.on_host.checkpoint.configs import CONFIG
from orchestrator.patches.known import Known
from orchestrator.patches.pointer import Documents
from orchestrator.plan import measured
from orchestrator.playbook.playbook import Playbook
from orchestrator.survey.survey import Survey

_OF_FIGURES = frozenset(
    ("num_attention_heads", "moe_intermediate_size", "quantization", "weight_block_n", "weight_block_k")
)
"""What is as it stands there; much else that the engine goes by is left out of figures, and would be read as a default."""


def of_host(playbook: Playbook, survey: Survey, version: str | None) -> Known:
    """What the host says, whatever is launched there."""
    return Known(
        kind=playbook.engine.kind,
        version=version,
        compute_cap=survey.facts.compute_cap,
        gpus=len(survey.facts.cards) or None,
    )


def of_launch(playbook: Playbook, survey: Survey, version: str | None, options: Options) -> Known:
    """With these options; before the files are there the playbook's figures speak for them, as far as they say something."""
    configs = survey.checkpoint.configs
    files = documents(configs) if CONFIG in configs else None  # once: some are megabytes long
    declared = _declared(playbook, files, version) if files is not None else None
    if options.kv_dtype is not None or files is None:
        stated = options.kv_dtype or playbook.figures.kv_cache
        dtype = kv_dtype(playbook, configs, version, options) if stated else None
    else:  # of an unknown version only "auto" is what every release makes of them
        dtype = declared or "auto" if version or declared == "auto" else None
    return replace(
        of_host(playbook, survey, version),
        engine={options.kv_dtype_setting: dtype} if dtype is not None else {},
        arguments=options.texts,
        attention=attention(playbook, configs, version),
        cache_type=declared,
        documents=files,
        model=_model(playbook, files, version),
        host=measured.measured(playbook, survey, options),
        variables={variable.name: variable.shown for variable in options.environment},
    )


def kv_dtype(playbook: Playbook, configs: Mapping[str, bytes], version: str | None, options: Options) -> str:
    """What the KV cache would be stored as: the engine's name for it, "auto" for the model's own dtype."""
    if options.kv_dtype is not None:
        return options.kv_dtype
    if CONFIG not in configs:
        return "fp8_e4m3" if playbook.figures.kv_cache == "fp8" else "auto"
    return (version and _declared(playbook, documents(configs), version)) or "auto"


def _model(playbook: Playbook, files: Documents | None, version: str | None) -> Mapping[str, str]:
    """What the engine reads out of the files, or of the figures."""
    if files is not None:
        return playbook.kind.model(files, version)
    config = playbook.figures.config
    read = playbook.kind.model({CONFIG: config}, version) if config else {}
    return {name: text for name, text in read.items() if name in _OF_FIGURES}


def _declared(playbook: Playbook, files: Documents, version: str | None) -> str | None:
    """What the config files alone make the KV cache; None where nobody knows this engine's way with them."""
    kind = playbook.kind.cache_type
    return kind.declared(files, version) if kind.members else None


def attention(playbook: Playbook, configs: Mapping[str, bytes], version: str | None) -> str | None:
    """The kind of attention, as the engine reads config.json, or else by the playbook's figures."""
    config = json.loads(configs[CONFIG]) if CONFIG in configs else playbook.figures.config
    if config:
        # How its layers lie may hang on the card, but not what they are.
        question = CacheQuestion(config, version, "auto", compute_cap="9.0")
        cache = playbook.kind.kv_cache(question)
        return None if cache is None else cache.attention
    return "mla" if playbook.figures.kv_lora_rank else None
