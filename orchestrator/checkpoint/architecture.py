"""What does a checkpoint's config.json say of its language model that no engine reads in a way of its own?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_LARGEST = 1 << 40


@dataclass(frozen=True)
class Architecture:
    """Attention heads, and the tokens of the longest request; None where config.json does not say."""

    heads: int | None
    max_position_embeddings: int | None


def read(config: Mapping[str, Any]) -> Architecture:
    """The architecture from a parsed config.json; the language model's part wins over the wrapper's."""
    text = config.get("text_config")
    part: Mapping[str, Any] = {**config, **text} if isinstance(text, dict) else config
    return Architecture(_int(part, "num_attention_heads"), _int(part, "max_position_embeddings"))


def _int(part: Mapping[str, Any], key: str) -> int | None:
    """A count or length; None for what can be none, such as a negative one or one of a thousand digits."""
    value = part.get(key)
    return value if type(value) is int and 0 <= value < _LARGEST else None
