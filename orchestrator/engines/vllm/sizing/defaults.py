"""What do config classes fill in where a published config.json leaves it out?

Only what decides the size of a cache and is left out in published files; from Transformers 5, the same for years.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_WINDOW = {"sliding_window": 4096}
_LARGE = {"num_hidden_layers": 32, "num_attention_heads": 32, "hidden_size": 4096}
_HEADS_OF = {
    64: "gpt_oss",
    128: "afmoe ernie4_5 glm glm4 minimax_m2 qwen3 qwen3_vl_moe_text qwen3_vl_text seed_oss",
    256: "gemma gemma2 qwen3_5_moe_text qwen3_5_text qwen3_next",
}

DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    **{name: {"head_dim": size} for size, names in _HEADS_OF.items() for name in names.split()},
    "cohere2": _WINDOW,
    "exaone4": _WINDOW,
    "gemma2": {"head_dim": 256, **_WINDOW},
    "gemma3_text": {"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, **_WINDOW},
    "gpt_oss": {"head_dim": 64, "sliding_window": 128},
    "llama": _LARGE,
    "mistral": {**_LARGE, "num_key_value_heads": 8, **_WINDOW},
    "olmo3": _WINDOW,
}
