"""What does a launch of vLLM hold, and which command line, texts and consents come of it?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.engines.command_line import canonical, rendered, text_of
from orchestrator.engines.consents import needed
from orchestrator.engines.options import Option, Options, OptionValue, Wanted
from orchestrator.engines.sizing import Overhead
from orchestrator.engines.variable import Variable
from orchestrator.engines.vllm import consents, memory
from orchestrator.engines.vllm.beside import named_beside
from orchestrator.engines.vllm.flags import check_flags, check_variables

if TYPE_CHECKING:
    from typing_extensions import Self

MODULE = "vllm.entrypoints.openai.api_server"
"""The module form works in every release from 0.10 to 0.33; `vllm serve` needs a distribution named vllm,
which the CPU build is not. From 0.29 on it prints a harmless deprecation warning."""
_PARALLEL = ("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size")


@dataclass(frozen=True)
class VllmOptions(Options):
    """The options of vLLM's OpenAI server, by their canonical names."""

    engine = "vLLM"
    context_option = "max-model-len"
    share_option = "gpu-memory-utilization"
    kv_dtype_option = "kv-cache-dtype"

    @classmethod
    def of(cls, wanted: Wanted) -> VllmOptions:
        """The options that come of what is asked of any engine."""
        given: dict[str, Option[OptionValue]] = {
            "model": wanted.folder,
            "served-model-name": wanted.served_name,
            "host": wanted.listen,
            "port": wanted.port,
            "tensor-parallel-size": wanted.tensor,
        }
        if wanted.pipeline.value != 1:
            given["pipeline-parallel-size"] = wanted.pipeline
        if wanted.data.value != 1:
            given["data-parallel-size"] = wanted.data
        return cls(
            python=wanted.python,
            folder=wanted.folder.value,
            asked_context=wanted.context,
            given={**given, cls.context_option: wanted.context, **wanted.arguments},
            environment=wanted.environment,
        )

    @property
    def argv(self) -> tuple[str, ...]:
        items = [item for name, option in self.given.items() for item in rendered(name, option.value)]
        return (self.python, "-m", MODULE, *items)

    @property
    def texts(self) -> Mapping[str, str]:
        """By name with underscores, as vLLM's log has it; a switch is "True"."""
        return {
            name.replace("-", "_"): "True" if text is None else text for name, text in self._named_texts()
        }

    def _named_texts(self) -> Iterator[tuple[str, str | None]]:
        for name, option in self.given.items():
            yield name, None if option.value is True else text_of(option.value)

    def remedied(self, flags: Mapping[str, str | None], environment: Mapping[str, str | None]) -> Self:
        changed = self.changed(dict(_of_a_remedy(name, text) for name, text in flags.items()))
        if (changed.number(self.context_option) or 0) > self.asked_context.value:
            # what a patch left room for once says nothing against a shorter context that is asked for now
            changed = changed.changed({self.context_option: self.asked_context})
        gone = [name for name, value in environment.items() if value is None]
        variables = [
            Variable.of_a_remedy(name, value) for name, value in environment.items() if value is not None
        ]
        return changed.with_variables(variables).without_variables(gone)

    def consents(self) -> dict[str, str]:
        return needed(self.argv, self.sent, consents.RULES, folder=self.folder)

    def code_beside(self) -> tuple[str, ...]:
        return tuple(named_beside(self.argv, self.folder))

    def not_taken(self, version: str) -> tuple[str, ...]:
        names = (variable.name for variable in self.environment)
        found = (*check_flags(self._named_texts(), version), *check_variables(names, version))
        return tuple(warning.sentence for warning in found)

    @property
    def ranks(self) -> int:
        return math.prod(self._count(name) for name in _PARALLEL[:2])

    @property
    def tensor(self) -> int:
        return self._count(_PARALLEL[0])

    @property
    def gpus(self) -> int:
        return math.prod(self._count(name) for name in _PARALLEL)

    @property
    def context(self) -> int:
        return int(self.number(self.context_option) or self.asked_context.value)

    @property
    def context_parallel(self) -> int:
        return self._count("decode-context-parallel-size")

    @property
    def kv_dtype(self) -> str | None:
        dtype = self.texts.get("kv_cache_dtype", "auto")
        return None if dtype == "auto" else dtype

    def memory_share(self, version: str | None) -> float:
        return self.number(self.share_option) or memory.default_utilisation(version)

    def overhead(self, version: str | None) -> Overhead:
        return memory.default_overhead(self.memory_share(version))

    def taking(self, share: float) -> Self:
        return self.changed({self.share_option: Option(share, "option")})

    @property
    def sizes_its_cache(self) -> bool:
        return "kv-cache-memory-bytes" in self.given

    def _count(self, name: str) -> int:
        return int(self.number(name) or 1)


def _of_a_remedy(option: str, text: str | None) -> tuple[str, Option[OptionValue] | None]:
    """A switch as one: vLLM takes the word after `--enforce-eager true` for the model."""
    name = canonical(option.removeprefix("--"))
    value = True if text == "true" and "." not in name else text
    return name, None if value is None else Option(value, "remedy")
