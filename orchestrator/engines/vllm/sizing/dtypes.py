"""How many bytes does a vector of the KV cache take, by the type that it is stored as?

From `v1/kv_cache_interface.py` and the backends' own layouts; each was asked of 0.32.0, and of 0.24.0 where it has the type.
"""

from __future__ import annotations

import math
from collections.abc import Callable

PLAIN = frozenset(("auto", "bfloat16", "float16", "half", "float32", "float"))
"""float32 is none that vLLM keeps: it casts such a model to bfloat16."""
FP8 = frozenset(("fp8", "fp8_e4m3", "fp8_e5m2"))
_SCALED = {"int8_per_token_head": 8, "fp8_per_token_head": 8, "int4_per_token_head": 4}
"""Bits of a value; each vector has a float32 scale beside it."""
_TURBO = {
    "turboquant_k8v4": (8, 4), "turboquant_4bit_nc": (4, 4), "turboquant_k3v4_nc": (3, 4), "turboquant_3bit_nc": (3, 3),
}  # fmt: skip
"""Bits of a key's value and of a value's."""
_SINCE = {**dict.fromkeys((*_SCALED, *_TURBO, "nvfp4"), "0.20.0"), "int4_per_token_head": "0.25.0"}
"""The release that first takes each (argument parsers)."""
_KERNELS = (128, 256)
"""Head sizes of which FP4 kernels were seen to be chosen, of 64 they were not."""


def is_turboquant(dtype: str) -> bool:
    return dtype in _TURBO


def latent_bytes(length: int, dtype: str) -> int | None:
    """Of a vector without scales of its own, None where the type is none of these: no backend keeps a latent otherwise."""
    return 2 * length if dtype in PLAIN else length if dtype in FP8 else None


def head_bytes(key: int, value: int, dtype: str, at_least: Callable[[str], bool]) -> int | None:
    """Of the key and the value of one head, sizes in elements; None where the release (`at_least`) does not keep them so."""
    if dtype in PLAIN or dtype in FP8:
        return (key + value) * (2 if dtype in PLAIN else 1)
    if dtype not in _SINCE or not at_least(_SINCE[dtype]):
        return None
    if dtype in _SCALED:
        return sum(size * _SCALED[dtype] // 8 + 4 for size in (key, value))
    if dtype == "nvfp4":
        return (key + value) * 9 // 16 if key in _KERNELS and value in _KERNELS else None
    bits, value_bits = _TURBO[dtype]
    packed = key if bits == 8 else math.ceil(key * bits / 8) + 2
    packed += math.ceil(value * value_bits / 8) + 4
    return packed + packed % 2
