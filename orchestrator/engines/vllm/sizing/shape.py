"""What of config.json does vLLM size a model by?

It asks the text model's part (`get_text_config`); the names of keys are those of its `ModelArchConfigConvertor`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from packaging.version import InvalidVersion, Version

from orchestrator.engines.kv_cache import CacheKind, CacheLayers, CacheQuestion
from orchestrator.engines.vllm.memory import default_step_tokens
from orchestrator.engines.vllm.sizing.defaults import DEFAULTS
from orchestrator.engines.vllm.sizing.dtypes import head_bytes, is_turboquant

_LARGEST = 1 << 40
_PARTS = ("text_config", "llm_config", "language_config")
_LAYERS = ("num_hidden_layers", "n_layer", "num_layers", "n_layers")
_HEADS = ("num_attention_heads", "n_head", "n_heads")
_HIDDEN = ("hidden_size", "n_embd", "d_model")
_KV_HEADS = (
    "n_head_kv",
    "num_kv_heads",
    "num_key_value_heads",
    "multi_query_group_num",
    "num_attention_groups",
)


class NotKnown(Exception):
    """The config says something that is not understood, or leaves out what decides."""


@dataclass(frozen=True)
class ModelShape:
    """The text model's part of a config and the question asked of it; its methods raise NotKnown."""

    part: Mapping[str, Any]
    model_type: str
    question: CacheQuestion

    def has(self, key: str) -> bool:
        return self.part.get(key) is not None

    def count(self, *keys: str) -> int | None:
        """A count or length by the first of the keys that is set; one that can be none is not known."""
        for key in keys:
            if (value := self.part.get(key)) is not None:
                if type(value) is not int or not 0 <= value < _LARGEST:
                    raise NotKnown(key)
                return value
        return None

    def needed(self, *keys: str) -> int:
        """The same, at least 1."""
        value = self.count(*keys)
        if not value:
            raise NotKnown(keys[0])
        return value

    def names(self, key: str, length: int) -> list[Any] | None:
        """A list with an entry for each layer; None where there is none, or an empty one."""
        value = self.part.get(key)
        if value is None or value == []:
            return None
        if not isinstance(value, list) or len(value) < length:
            raise NotKnown(key)
        return value[:length]

    def mapping(self, key: str) -> Mapping[str, Any]:
        value = self.part.get(key)
        if not isinstance(value, dict):
            raise NotKnown(key)
        return value

    @property
    def step_tokens(self) -> int:
        """What one step computes at most."""
        asked = self.question
        return asked.step_tokens or default_step_tokens(asked.version, asked.memory_gib, asked.card)

    @property
    def layers(self) -> int:
        return self.needed(*_LAYERS)

    @property
    def heads(self) -> int:
        return self.needed(*_HEADS)

    @property
    def hidden(self) -> int:
        return self.needed(*_HIDDEN)

    @property
    def kv_heads(self) -> int:
        return self.count(*_KV_HEADS) or self.heads

    @property
    def head_size(self) -> int:
        return self.count("head_dim") or self.hidden // self.heads

    def on_rank(self, kv_heads: int) -> int:
        """KV heads of one rank; classes assert that ranks share heads evenly, or heads ranks."""
        ranks = self.question.tensor
        if self.heads % ranks or (kv_heads % ranks if kv_heads >= ranks else ranks % kv_heads):
            raise NotKnown("tensor parallel size")
        return max(1, kv_heads // ranks)

    def attention(
        self, kind: CacheKind, count: int, *, kv_heads: int | None = None, size: int | None = None,
        value_size: int | None = None, tokens: int | None = None, dtype: str | None = None,
    ) -> CacheLayers:  # fmt: skip
        """Layers that keep keys and values by head; sizes in elements, `tokens` as in CacheLayers."""
        size = size or self.head_size
        if not size:
            raise NotKnown("head_dim")
        dtype = dtype or self.question.dtype
        if kind != "full" and is_turboquant(dtype):
            raise NotKnown(dtype)
        heads, each = (
            self.on_rank(kv_heads or self.kv_heads),
            head_bytes(size, value_size or size, dtype, self.at_least),
        )
        if each is None:
            raise NotKnown(dtype)
        return CacheLayers(kind, count, heads * each, heads, size, tokens)

    def at_least(self, release: str) -> bool:
        """Whether the version is this one or newer; where none is known, the newest is meant."""
        if self.question.version is None:
            return True
        try:
            return Version(Version(self.question.version).base_version) >= Version(release)
        except InvalidVersion:
            raise NotKnown("version") from None


def read(question: CacheQuestion) -> ModelShape:
    """The shape of the text model; NotKnown where parts lie in each other in a way of their own."""
    part: Mapping[str, Any] = question.config
    kind = part.get("model_type")
    thinker = part.get("thinker_config")
    if isinstance(thinker, dict):
        part = thinker
    for name in _PARTS:
        inner = part.get(name)
        if isinstance(inner, dict):
            part = inner
            break
    model_type = str(part.get("model_type") or kind or "")
    return ModelShape({**DEFAULTS.get(model_type, {}), **part}, model_type, question)
