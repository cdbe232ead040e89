"""Surveys of hosts that do not exist, for tests of pure planning."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from orchestrator.facts import engine as engine_fact
from orchestrator.facts import gpus as gpus_fact
from orchestrator.facts.engine import InstalledEngine
from orchestrator.facts.gather import Facts
from orchestrator.facts.gpus import Gpu, Gpus
from orchestrator.facts.source import Unknown
from orchestrator.programs.inspect_checkpoint import Index
from orchestrator.programs.journal import read
from orchestrator.programs.listener import PortOwner
from orchestrator.programs.observe import Member, SharedMemory
from orchestrator.programs.place import Endpoint
from orchestrator.survey.checkpoint import Checkpoint
from orchestrator.survey.journal import History, fold
from orchestrator.survey.observed import Observed
from orchestrator.survey.survey import Survey

CONFIG: dict[str, Any] = {
    "model_type": "kimi_k25",
    "architectures": ["KimiK25ForConditionalGeneration"],
    "quantization_config": {
        "quant_method": "modelopt",
        "quant_algo": "NVFP4",
        "kv_cache_scheme": {"dynamic": False, "num_bits": 8, "type": "float"},
        "producer": {"name": "modelopt", "version": "0.41.0"},
    },
    "text_config": {
        "model_type": "deepseek_v3",
        "num_hidden_layers": 61,
        "hidden_size": 7168,
        "num_attention_heads": 64,
        "num_key_value_heads": 64,
        "kv_lora_rank": 512,
        "qk_rope_head_dim": 64,
    },
}
SIDECAR: dict[str, Any] = {
    "producer": {"name": "modelopt", "version": "0.41.0"},
    "quantization": {
        "quant_algo": "NVFP4",
        "kv_cache_quant_algo": "FP8",
        "group_size": 16,
        "exclude_modules": ["lm_head"],
    },
}
FILES = {
    "config.json": json.dumps(CONFIG, indent=4).encode(),
    "hf_quant_config.json": json.dumps(SIDECAR, indent=4).encode(),
}
NO_FILES = Checkpoint(
    exists=False,
    folder="/home/ml/models/kimi-k2.5-nvfp4",
    owner_uid=None,
    owned_by_us=False,
    configs={},
    broken={},
    unreadable={},
    index=None,
    manifest=None,
    free_bytes=2_000_000_000_000,
)
SHARDS = tuple(f"model-{number:05d}-of-00119.safetensors" for number in range(1, 120))
WHOLE = replace(
    NO_FILES,
    exists=True,
    owner_uid=1000,
    owned_by_us=True,
    configs=FILES,
    index=Index(
        total_size=590_700_000_000,
        shards=SHARDS,
        present=SHARDS,
        missing=(),
        broken=False,
    ),
)
NEVER_LAUNCHED = Observed(
    launch=None,
    alive=False,
    members=(),
    exit_code=None,
    command=None,
    log=None,
    health=None,
    models=(),
    context=None,
    listener=None,
    endpoint=Endpoint(host="0.0.0.0", port=8000, model="kimi-k2.5"),
    started_at=None,
    shm=SharedMemory(entries=0, bytes=0),
)
MEMBER = Member(pid=7, name="python3", rss_bytes=1)


def listener(**more: Any) -> PortOwner:
    """Somebody else's, unless told otherwise."""
    return PortOwner.model_validate(
        {"ours": False, "pid": None, "command": None, "user": None, "since": None, **more}
    )


def cards(count: int = 8, *, cap: str | None = "12.0", memory_mib: int | None = 97887) -> Gpus:
    return Gpus(
        tuple(
            Gpu(
                index=number,
                name="NVIDIA RTX PRO 6000 Blackwell Server Edition",
                uuid=f"GPU-{number}",
                compute_cap=cap,
                memory_mib=memory_mib,
                memory_used_mib=2,
                driver="580.95.05",
                mig="Disabled",
            )
            for number in range(count)
        )
    )


def engine(version: str = "0.16.0", distribution: str = "vllm") -> InstalledEngine:
    return InstalledEngine(
        version=version,
        distribution=distribution,
        python="3.12.3",
        executable="/home/ml/ml-env/bin/python3",
        huggingface_hub="1.0.0",
        torch="2.9.1",
        transformers="5.0.0",
    )


def knowing(survey: Survey, **facts: object) -> Survey:
    """The same host, of which these facts are known, by their names."""
    known = {**survey.facts.known, **facts}
    return replace(survey, facts=replace(survey.facts, known=known))


def survey(
    *,
    version: str | None = "0.16.0",
    gpus: Gpus | Unknown | None = None,
    checkpoint: Checkpoint = WHOLE,
    observed: Observed = NEVER_LAUNCHED,
    journal: list[dict[str, Any]] | None = None,
) -> Survey:
    """The flagship's host as it was found, unless told otherwise."""
    facts = Facts(
        {
            engine_fact.FACT.name: engine(version)
            if version
            else Unknown("no_engine", "vllm is not installed"),
            gpus_fact.FACT.name: cards() if gpus is None else gpus,
        }
    )
    history: History = fold(map(read, journal or [])).within(checkpoint.folder)
    return Survey(facts=facts, checkpoint=checkpoint, observed=observed, history=history)
