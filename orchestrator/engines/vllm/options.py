"""What does a launch of vLLM hold?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orchestrator.engines import ray
from orchestrator.engines.consents import OPEN, needed
from orchestrator.engines.module_options import ModuleOptions
from orchestrator.engines.options import Default, Objection, Wanted
from orchestrator.engines.sizing import Overhead
from orchestrator.engines.vllm import consents, memory, nodes, overhead
from orchestrator.engines.vllm.adapting import adapted
from orchestrator.engines.vllm.architectures import unsupported
from orchestrator.engines.vllm.beside import named_beside
from orchestrator.engines.vllm.defaults import moved
from orchestrator.engines.vllm.ignored import ignored
from orchestrator.engines.vllm.kv_cache import keeps_fp8
from orchestrator.engines.vllm.objections import objections
from orchestrator.engines.vllm.watchdog import leaving_stacks

if TYPE_CHECKING:
    from typing_extensions import Self

_FEWER_WEIGHTS = (
    "quantization", "load-format", "cpu-offload-gb", "offload-backend", "offload-group-size", "language-model-only",
    "hf-overrides", "model-loader-extra-config",
)  # fmt: skip
"""With these a card may hold less than the checkpoint's files say."""


@dataclass(frozen=True)
class VllmOptions(ModuleOptions):
    """The options of vLLM's OpenAI server."""

    engine = "vLLM"
    module = "vllm.entrypoints.openai.api_server"
    """The module form works in every release from 0.10 to 0.33; `vllm serve` needs a distribution named vllm,
    which the CPU build is not. From 0.29 on it prints a harmless deprecation warning."""
    tensor_option = "tensor-parallel-size"
    pipeline_option = "pipeline-parallel-size"
    data_option = "data-parallel-size"
    context_option = "max-model-len"
    fits_context = True
    share_option = "gpu-memory-utilization"
    kv_dtype_option = "kv-cache-dtype"
    context_parallel_option = "decode-context-parallel-size"
    rules = consents.RULES

    @classmethod
    def of(cls, wanted: Wanted) -> Self:
        whole = super().of(wanted)
        return nodes.spread(whole, wanted.node) if wanted.node else whole

    @property
    def argv(self) -> tuple[str, ...]:
        return nodes.command(self, self.node, self._server) if self.node else self._server

    @property
    def _server(self) -> tuple[str, ...]:
        return super().argv

    @property
    def _judged(self) -> tuple[str, ...]:
        """What consents are judged on: Ray starts ranks on a host by what the head's server is told."""
        return self._server if self.through_ray else self.argv

    def consents(self) -> dict[str, str]:
        asked = needed(self._judged, self.sent, self.rules, folder=self.folder)
        return {**({OPEN: ray.OPEN} if self.through_ray else {}), **asked}

    def code_beside(self) -> tuple[str, ...]:
        return tuple(named_beside(self._judged, self.folder))

    def for_version(self, version: str) -> Self:
        return nodes.patient(adapted(nodes.for_version(self, version), version), version)

    def leaving_stacks(self, version: str) -> Self:
        return leaving_stacks(self, version)

    def objections(self, version: str) -> tuple[Objection, ...]:
        judged = objections(self.given, version)
        return tuple(objection for objection, option in judged if option.origin != "remedy")

    def unsupported(self, config: Mapping[str, Any], version: str) -> Objection | None:
        return unsupported(config, self, version)

    def moved_defaults(self, version: str, memory_gib: float | None, card: str | None) -> tuple[Default, ...]:
        return tuple(moved({*self.given, *self.sent}, version, memory_gib, card))

    def not_taken(self, version: str) -> tuple[str, ...]:
        judged = objections(self.given, version)
        remedied = (objection.sentence for objection, option in judged if option.origin == "remedy")
        return (*remedied, *ignored(self, version))

    @property
    def context_parallel(self) -> int:
        return self.count(self.context_parallel_option)

    def memory_share(self, version: str | None) -> float:
        return self.number(self.share_option) or memory.default_utilisation(version)

    def overhead(
        self,
        version: str | None,
        config: Mapping[str, Any] | None,
        memory_gib: float | None,
        card: str | None,
    ) -> Overhead:
        graphs = self.value("enforce-eager") is not True
        share, sequences = self.memory_share(version), self._whole("max-num-seqs")
        return overhead.overhead(
            config,
            overhead.Profiled(
                version, self.ranks, memory_gib, card, self.step_tokens, sequences, graphs, share
            ),
        )

    def keeps_fp8(self, version: str | None, attention: str | None, compute_cap: str | None) -> bool:
        return keeps_fp8(version, attention, compute_cap)

    @property
    def step_tokens(self) -> int | None:
        return self._whole("max-num-batched-tokens")

    @property
    def state_dtype(self) -> str | None:
        return self.texts.get("mamba_ssm_cache_dtype")

    @property
    def loads_all_weights(self) -> bool:
        return not any(name in self.given for name in _FEWER_WEIGHTS)

    @property
    def sizes_its_cache(self) -> bool:
        return "kv-cache-memory-bytes" in self.given

    def _whole(self, name: str) -> int | None:
        number = self.number(name)
        return int(number) if number and number >= 1 else None
