"""What was the engine told, by its arguments and by the checkpoint's config?"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CARD_GIB = 94.97
UTILISATION = 0.9
WEIGHTS_GIB = 70.53
ACTIVATIONS_GIB = 5.1
"""What the flagship takes of a card beside weights and KV cache, while it is profiled."""
SHORT_KV_GIB = 3.08
BLOCK_TOKENS = 16


def arguments(argv: Sequence[str]) -> dict[str, str | bool]:
    """Options by name with underscores, as vLLM's own parser spells them; a bare option is True, `serve MODEL` its model."""
    options: dict[str, str | bool] = {"model": argv[1]} if argv[0] == "serve" else {}
    for at, item in enumerate(argv):
        if not item.startswith("--"):
            continue
        name, equals, value = item[2:].partition("=")
        following = argv[at + 1] if at + 1 < len(argv) else "--"
        bare = True if following.startswith("--") else following
        options[name.replace("-", "_")] = value if equals else bare
    return options


@dataclass(frozen=True)
class StandInSettings:
    """One launch."""

    given: Mapping[str, str | bool]
    config: Mapping[str, Any]
    kv_dtype: str
    fault: str
    visible: tuple[int, ...] = ()
    """The numbers of the host's cards that it may use, in its own order; all of them where none is named."""

    @property
    def model(self) -> str:
        return str(self.given["model"])

    @property
    def served(self) -> str:
        return str(self.given.get("served_model_name", self.model))

    @property
    def host(self) -> str:
        return str(self.given.get("host", "0.0.0.0"))

    @property
    def port(self) -> int:
        return int(self.given.get("port", 8000))

    @property
    def tensor(self) -> int:
        return int(self.given.get("tensor_parallel_size", 1))

    @property
    def pipeline(self) -> int:
        return int(self.given.get("pipeline_parallel_size", 1))

    @property
    def ranks(self) -> int:
        """On all hosts."""
        return self.tensor * self.pipeline

    @property
    def copies(self) -> int:
        """Of the model on this host, where others have copies too; 0 where its ranks are those of one copy."""
        return int(self.given.get("data_parallel_size_local", 0))

    @property
    def nodes(self) -> int:
        if self.copies:
            return int(self.given["data_parallel_size"]) // self.copies
        return int(self.given.get("nnodes", 1))

    @property
    def node(self) -> int:
        """Which of the hosts this is; 0 is the head."""
        if self.copies:
            return int(self.given.get("data_parallel_start_rank", 0)) // self.copies
        return int(self.given.get("node_rank", 0))

    @property
    def own(self) -> range:
        """The ranks on this host; of several copies one is acted."""
        if self.copies:
            return range(self.ranks)
        each = self.ranks // self.nodes
        return range(self.node * each, (self.node + 1) * each)

    def card(self, rank: int) -> int:
        """The number that the host gives to the card of a rank."""
        local = rank - self.own.start
        return self.visible[local] if self.visible else local

    @property
    def head(self) -> str:
        """The address of the head."""
        return str(self.given.get("data_parallel_address" if self.copies else "master_addr", "127.0.0.1"))

    @property
    def meeting_port(self) -> int:
        """Where the head is met."""
        return int(self.given.get("data_parallel_rpc_port" if self.copies else "master_port", 29501))

    @property
    def patience(self) -> float:
        """Seconds that a rank waits for those on other hosts."""
        return float(self.given.get("distributed_timeout_seconds", 1800))

    def title(self, rank: int) -> str:
        """What a rank calls itself."""
        stage, part = divmod(rank, self.tensor)
        return f"Worker_PP{stage}_TP{part}" if self.pipeline > 1 else f"Worker_TP{part}"

    @property
    def text(self) -> Mapping[str, Any]:
        settings: Mapping[str, Any] = self.config.get("text_config") or self.config
        return settings

    @property
    def context(self) -> int:
        own = int(self.text.get("max_position_embeddings") or 4096)
        given = self.given.get("max_model_len")
        return min(own, self.kv_tokens) if given == "auto" else int(given or own)

    @property
    def mla(self) -> bool:
        return bool(self.text.get("kv_lora_rank"))

    @property
    def refused(self) -> bool:
        """Whether no backend of this release runs the model's attention on compute capability 12.0."""
        return self.mla and (self.kv_dtype not in ("auto", "bfloat16") or self.fault == "stubborn")

    @property
    def kv_bytes_per_token(self) -> int:
        """In bf16, on every rank in full for MLA."""
        layers = -(-int(self.text.get("num_hidden_layers", 1)) // self.pipeline)
        if self.mla:
            return layers * 2 * (int(self.text["kv_lora_rank"]) + int(self.text.get("qk_rope_head_dim", 64)))
        heads = int(self.text.get("num_key_value_heads", 8))
        return layers * 4 * max(1, heads // self.tensor) * int(self.text.get("head_dim") or 128)

    @property
    def kv_gib(self) -> float:
        """What is left for the KV cache on a card."""
        if self.fault == "kv-cache-too-small":
            return SHORT_KV_GIB
        return CARD_GIB * UTILISATION - WEIGHTS_GIB - ACTIVATIONS_GIB

    @property
    def kv_tokens(self) -> int:
        return int(self.kv_gib * 2**30 / self.kv_bytes_per_token) // BLOCK_TOKENS * BLOCK_TOKENS

    @property
    def kv_needed_gib(self) -> float:
        return self.context * self.kv_bytes_per_token / 2**30

    @property
    def shards(self) -> int:
        return len(list(Path(self.model).glob("*.safetensors"))) or 1


def read(argv: Sequence[str]) -> StandInSettings:
    """Settings of a launch; ValueError with vLLM's words for a config that it refuses."""
    given = arguments(argv)
    model = Path(str(given["model"]))
    config = json.loads((model / "config.json").read_text())
    flag = str(given.get("kv_cache_dtype", "auto"))
    kv_dtype = flag if flag != "auto" else declared_kv_dtype(model, config)
    named = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    visible = tuple(int(card) for card in named if card.isdecimal())
    return StandInSettings(given, config, kv_dtype, os.environ.get("STAND_IN_FAULT", ""), visible)


def declared_kv_dtype(model: Path, config: Mapping[str, Any]) -> str:
    """The KV cache dtype that the metadata of a ModelOpt checkpoint asks for.

    The sidecar counts only where config.json has no block at the top; Kimi's class lifts the one of its text
    model there.
    """
    block = config.get("quantization_config")
    method = str((block or {}).get("quant_method") or "")
    sidecar = model / "hf_quant_config.json"
    if block is None and sidecar.exists():
        block = json.loads(sidecar.read_text())
        method = str((block.get("producer") or {}).get("name") or "")
    elif block is None and config.get("model_type") == "kimi_k25":
        block = (config.get("text_config") or {}).get("quantization_config") or {}
        method = str(block.get("quant_method") or "")
    block = block or {}
    legacy = block.get("quantization") or {}
    if legacy.get("quant_algo") == "NVFP4" and "kv_cache_quant_algo" not in legacy:
        raise ValueError(
            "NVFP4 quantization requires the following fields in hf_quant_config.json: ['kv_cache_quant_algo']"
        )
    scheme = (
        legacy.get("kv_cache_scheme")
        or block.get("kv_cache_scheme")
        or legacy.get("kv_cache_quant_algo")
        or block.get("kv_cache_quant_algo")
    )
    return "fp8_e4m3" if method.startswith("modelopt") and _is_fp8(scheme) else "auto"


def _is_fp8(scheme: object) -> bool:
    """Anything else is warned about and taken for auto."""
    if isinstance(scheme, dict):
        known = (scheme.get("dynamic"), scheme.get("num_bits"), scheme.get("type"))
        return known == (False, 8, "float")
    return isinstance(scheme, str) and scheme.lower() == "fp8"
