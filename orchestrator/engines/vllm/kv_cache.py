"""Which type does vLLM's KV cache get where no option says so: what does it make of a checkpoint's config files?

vLLM reads `quantization_config` at the top of config.json, and hf_quant_config.json only where that is absent. How they
are edited is said by the patches that edit them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from packaging.version import Version

from orchestrator.engines.protocol import CacheType
from orchestrator.on_host.checkpoint.configs import CONFIG

SIDECAR = "hf_quant_config.json"

_BLOCK = "quantization_config"
_SCHEME = "kv_cache_scheme"
_ALGO = "kv_cache_quant_algo"
_PROPAGATING = ("kimi_k25", "kimi_k3", "step5")
"""Model types whose wrapper class in vLLM lifts text_config's quantization_config to the top."""


def resolved(documents: Mapping[str, Mapping[str, Any]], vllm_version: str) -> str:
    """What `--kv-cache-dtype auto` becomes: "auto" (the model's dtype), "fp8_e4m3" or "nvfp4".

    Follows `resolve_kv_cache_dtype_string` (vLLM 0.14.0 and newer; 0.20.0 knows nvfp4) and, for
    compressed-tensors, the switch to fp8 in `Attention` (0.15.0 and newer, not in `MLAAttention`).
    """
    version = Version(Version(vllm_version).base_version)
    config = documents[CONFIG]
    block, method = _quantisation(config, documents.get(SIDECAR, {}), version)
    if method == "compressed-tensors":
        flips = version >= Version("0.15.0") and not _is_mla(config) and _is_mapping(block.get(_SCHEME))
        return "fp8_e4m3" if flips else "auto"
    if version < Version("0.14.0") or not method.startswith("modelopt"):
        return "auto"
    legacy = block.get("quantization")
    legacy = legacy if isinstance(legacy, dict) else {}
    declared = legacy.get(_SCHEME) or block.get(_SCHEME) or legacy.get(_ALGO) or block.get(_ALGO)
    dtype = _declared_dtype(declared)
    return "auto" if dtype == "nvfp4" and version < Version("0.20.0") else dtype


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict)


def _is_mla(config: Mapping[str, Any]) -> bool:
    text = config.get("text_config")
    return any(isinstance(part, dict) and part.get("kv_lora_rank") for part in (config, text))


def _method(block: Mapping[str, Any]) -> str:
    method = block.get("quant_method")
    return method.lower() if isinstance(method, str) else ""


def _by_modelopt(block: Mapping[str, Any]) -> bool:
    producer = block.get("producer")
    return isinstance(producer, dict) and producer.get("name") == "modelopt"


def _quantisation(
    config: Mapping[str, Any], sidecar: Mapping[str, Any], version: Version
) -> tuple[Mapping[str, Any], str]:
    """The quantisation block that vLLM's config loading arrives at, with its method."""
    block = config.get(_BLOCK)
    if isinstance(block, dict):
        return block, _method(block)
    if sidecar:
        return sidecar, "modelopt" if _by_modelopt(sidecar) else _method(sidecar)
    text = config.get("text_config")
    nested = text.get(_BLOCK) if isinstance(text, dict) else None
    # 0.33.0 no longer sees the nested block (0.16.0 and 0.18.1 do; the releases between were not run).
    if isinstance(nested, dict) and config.get("model_type") in _PROPAGATING and version < Version("0.33.0"):
        return nested, _method(nested)
    return {}, ""


def _declared_dtype(declared: Any) -> str:
    if isinstance(declared, dict):
        static_float = declared.get("dynamic") is False and declared.get("type") == "float"
        bits = declared.get("num_bits") if static_float else None
        return {8: "fp8_e4m3", 4: "nvfp4"}.get(bits, "auto") if isinstance(bits, int) else "auto"
    if isinstance(declared, str):
        return {"fp8": "fp8_e4m3", "nvfp4": "nvfp4"}.get(declared.lower(), "auto")
    return "auto"


CACHE_TYPE = CacheType(resolved, frozenset((_SCHEME, _ALGO)))
