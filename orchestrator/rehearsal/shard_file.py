"""How is a safetensors file written with nothing but the standard library?"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path

TensorShape = tuple[int, ...]
Tensors = Mapping[str, tuple[str, TensorShape]]
"""Name -> dtype as safetensors spells it, and shape."""
Fill = Callable[[str, int], bytes]
"""Gives a tensor's bytes from its name and how many it must be."""

_BYTES = {"U8": 1, "F8_E4M3": 1, "BF16": 2, "F32": 4}


def write_shard(path: Path, tensors: Tensors, fill: Fill) -> int:
    """Write one shard; gives the bytes of data in it, without its header."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    blocks: list[bytes] = []
    at = 0
    for name, (dtype, shape) in sorted(tensors.items()):
        block = fill(name, math.prod(shape) * _BYTES[dtype])
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(block)]}
        at += len(block)
        blocks.append(block)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(blocks))
    return at


def write_shards(folder: Path, shards: list[Tensors], fill: Fill) -> None:
    """Write shards under their usual names, and the index that names every tensor's shard."""
    weight_map: dict[str, str] = {}
    total = 0
    for number, tensors in enumerate(shards, 1):
        name = f"model-{number:05}-of-{len(shards):05}.safetensors"
        total += write_shard(folder / name, tensors, fill)
        weight_map |= dict.fromkeys(tensors, name)
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(weight_map.items()))}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2))
