"""What is a second engine that is launched? Its log is SGLang's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.engines import pytorch
from orchestrator.engines.consents import ConsentRules
from orchestrator.engines.module_options import ModuleOptions
from orchestrator.engines.protocol import Engine, Probes
from orchestrator.engines.rules import ArgumentRules, VariableRules
from orchestrator.engines.sglang.log.grammar import GRAMMAR
from orchestrator.engines.sizing import Overhead
from orchestrator.facts.source import Package
from orchestrator.on_host.footprint import Footprint


@dataclass(frozen=True)
class SglangOptions(ModuleOptions):
    """The options of SGLang's server."""

    engine = "SGLang"
    module = "sglang.launch_server"
    model_option = "model-path"
    tensor_option = "tp-size"
    pipeline_option = "pp-size"
    data_option = "dp-size"
    context_option = "context-length"
    share_option = "mem-fraction-static"
    kv_dtype_option = "kv-cache-dtype"
    rules = ConsentRules()

    def code_beside(self) -> tuple[str, ...]:
        return ()

    def not_taken(self, version: str) -> tuple[str, ...]:
        return ()

    @property
    def context_parallel(self) -> int:
        return 1

    def memory_share(self, version: str | None) -> float:
        return self.number(self.share_option) or 0.85

    def overhead(
        self,
        version: str | None,
        config: Mapping[str, Any] | None,
        memory_gib: float | None,
        card: str | None,
    ) -> Overhead:
        return Overhead(optimistic=2.0, safe=4.0)

    @property
    def sizes_its_cache(self) -> bool:
        return "max-total-tokens" in self.given


ENGINE = Engine(
    kind="second",
    title="SGLang",
    package=Package(("sglang",), "sglang"),
    arguments=ArgumentRules(reserved={"model-path": "set model.repository and checkpoint.folder instead"}),
    variables=VariableRules(own=re.compile(r"(?:SGLANG|NCCL|TORCH)_\w+"), dropped_only=re.compile(r"(?!)")),
    launched=SglangOptions.of,
    key="SGLANG_API_KEY",
    server=Probes("/ready", "sglang:generation_tokens_total"),
    port=30000,
    log_name="second.log",
    grammar=lambda: replace(GRAMMAR, kind="second"),
    footprint=Footprint(
        called=r"\bsglang\.launch_server\b|^sglang::",
        mapped="/sglang/",
        shared_memory=pytorch.SHARED_MEMORY,
        caches=pytorch.CACHES,
    ),
)
