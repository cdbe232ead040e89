"""Which type does vLLM's KV cache get where no option says so: what does it make of a checkpoint's config files?

Two of its places decide. `--kv-cache-dtype auto` is resolved by the block at the top of config.json, by hf_quant_config.json
where there is none, and only in ModelOpt's words. Attention layers follow compressed-tensors' words, in the block that weights
are loaded by, which may stand in text_config. How the files are edited is said by the patches that edit them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from packaging.version import Version

from orchestrator.engines.protocol import CacheType
from orchestrator.engines.vllm.latent_types import MLA
from orchestrator.on_host.checkpoint.configs import CONFIG

SIDECAR = "hf_quant_config.json"

_BLOCK = "quantization_config"
_OLD_BLOCK = "compression_config"
_SCHEME = "kv_cache_scheme"
_ALGO = "kv_cache_quant_algo"
_SCALES = "compressed-tensors"
_LIFTING = {"kimi_k25": Version("0.32.0"), "kimi_k3": None, "step5": None}
"""Model types whose class lifts text_config's block to the top, each with the release that no longer does: vLLM 0.24.0 has a
class of its own for kimi_k25, 0.32.0 takes that of transformers (the releases between were not run)."""
_MODELOPT = {"MIXED": "modelopt_mixed", "FP4": "modelopt_fp4", "MXFP8": "modelopt_mxfp8"}
"""What ModelOpt's method is called by its algorithm."""
_TURNS = ("0.32.0", "0.20.0", "0.15.0", "0.14.0")
"""Releases from which on some files are read otherwise."""


def declared(documents: Mapping[str, Mapping[str, Any]], vllm_version: str | None) -> str | None:
    """The same as `resolved`; None for files in which vLLM looks for a member where there is no object, and stops."""
    config = documents[CONFIG]
    blocks = (config.get(_BLOCK), _object(config.get("text_config")).get(_BLOCK), documents.get(SIDECAR))
    return resolved(documents, vllm_version) if all(_is_whole(block) for block in blocks) else None


def keeps_fp8(version: str | None, attention: str | None, compute_cap: str | None) -> bool:
    """Whether a backend of this release is known to take FP8: kernels for it begin at 8.9, and on 12.0 those for a latent came later
    (asked of the selectors of all releases)."""
    try:
        cap = tuple(int(part) for part in (compute_cap or "").split("."))
        release = Version(Version(version).base_version) if version is not None else None
    except ValueError:
        return False
    since = {"mla": Version("0.18.0"), "sparse-mla": Version("0.24.0")}.get(attention or "")
    if cap < (8, 9) or attention is None:
        return False
    return since is None or cap < (12, 0) or (release is not None and release >= since)


def _is_whole(block: Any) -> bool:
    if block is None:
        return True
    return isinstance(block, dict) and all(
        isinstance(block.get(name, {}), dict) for name in ("producer", "quantization")
    )


def resolved(documents: Mapping[str, Mapping[str, Any]], vllm_version: str | None) -> str:
    """What `--kv-cache-dtype auto` becomes: "auto" (the model's dtype), "fp8_e4m3" or "nvfp4".

    Follows `resolve_kv_cache_dtype_string` (vLLM 0.14.0 and newer; 0.20.0 knows nvfp4) and, for
    compressed-tensors, the switch to fp8 in `Attention` (0.15.0 and newer, not in `MLAAttention`). Where the version is not
    known, "auto" is what every release makes of them.
    """
    if vllm_version is None:
        return next((dtype for turn in _TURNS if (dtype := resolved(documents, turn)) != "auto"), "auto")
    version = Version(Version(vllm_version).base_version)
    config = documents[CONFIG]
    text = _object(config.get("text_config"))
    top = _top(config, text, documents.get(SIDECAR), version)
    if top is not None and version >= Version("0.14.0") and _method(top).startswith("modelopt"):
        return _asked(top, version)
    return "fp8_e4m3" if version >= Version("0.15.0") and _has_scales(config, text, top) else "auto"


def _top(
    config: Mapping[str, Any], text: Mapping[str, Any], sidecar: Mapping[str, Any] | None, version: Version
) -> Mapping[str, Any] | None:
    """The block that stands at the top once vLLM has loaded the config; null is none, {} is one."""
    if isinstance(block := config.get(_BLOCK), dict):
        return block
    if sidecar is not None:
        return sidecar
    model_type = config.get("model_type")
    if not isinstance(model_type, str) or model_type not in _LIFTING:
        return None
    until = _LIFTING[model_type]
    nested = text.get(_BLOCK)
    return nested if isinstance(nested, dict) and (until is None or version < until) else None


def _method(block: Mapping[str, Any]) -> str:
    """As `_normalize_quantization_config` has it: ModelOpt's old layout says it by its producer alone."""
    old = _object(block.get("quantization"))
    modelopt = _object(block.get("producer")).get("name") == "modelopt" or "modelopt_quant_config" in old
    if modelopt and old.get("quant_algo") is not None:
        return "modelopt"
    method = block.get("quant_method")
    return method.lower().replace("compressed_tensors", _SCALES) if isinstance(method, str) else ""


def _asked(block: Mapping[str, Any], version: Version) -> str:
    """What a block of ModelOpt's asks for; the first of the places that says something counts."""
    old = _object(block.get("quantization"))
    asked = old.get(_SCHEME) or block.get(_SCHEME) or old.get(_ALGO) or block.get(_ALGO)
    if isinstance(asked, dict) and asked.get("type") == "float":
        fp8 = asked.get("num_bits") == 8 and asked.get("dynamic") is False
        asked = "fp8" if fp8 else "nvfp4" if asked.get("num_bits") == 4 else None
    if not isinstance(asked, str):
        return "auto"
    known = {"fp8": "fp8_e4m3"} if version < Version("0.20.0") else {"fp8": "fp8_e4m3", "nvfp4": "nvfp4"}
    return known.get(asked.lower(), "auto")


def _has_scales(config: Mapping[str, Any], text: Mapping[str, Any], top: Mapping[str, Any] | None) -> bool:
    """Whether attention layers store FP8, with the scales that compressed-tensors declares (`get_quant_config`)."""
    nested, old = text.get(_BLOCK), config.get(_OLD_BLOCK)
    blocks = [block for block in (top, nested, old) if isinstance(block, dict)]
    named = [block for block in (top, old, nested) if isinstance(block, dict)]
    if not blocks or _method(named[0]) != _SCALES:
        return False
    return blocks[0].get(_SCHEME) is not None and not _is_mla(config, text)


def _is_mla(config: Mapping[str, Any], text: Mapping[str, Any]) -> bool:
    """Whether its layers are `MLAAttention`, which never look at a scheme of compressed-tensors."""
    part = text or config
    # Kimi-K2.5's class takes DeepSeek-V3 for the text where nothing else is said
    kind = part.get("model_type", "deepseek_v3" if config.get("model_type") == "kimi_k25" else None)
    rank = "head_dim" if "compress_ratios" in part else "kv_lora_rank"
    return isinstance(kind, str) and kind in MLA and part.get(rank) is not None


def quantisation(
    documents: Mapping[str, Mapping[str, Any]], vllm_version: str | None
) -> tuple[str | None, Mapping[str, Any]]:
    """By which method vLLM loads the weights, None for none, and the block that says so: the one that counts, or else one
    in text_config; where the version is not known, as the newest does."""
    config = documents[CONFIG]
    text = _object(config.get("text_config"))
    version = Version(Version(vllm_version or _TURNS[0]).base_version)
    block = _top(config, text, documents.get(SIDECAR), version)
    block = _object(text.get(_BLOCK)) if block is None else block
    method = _method(block)
    if method == "modelopt":
        algo = _object(block.get("quantization")).get("quant_algo") or block.get("quant_algo")
        words = algo.upper() if isinstance(algo, str) else ""
        method = next((name for word, name in _MODELOPT.items() if word in words), method)
    return method or None, block


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


CACHE_TYPE = CacheType(declared, frozenset((_SCHEME, _ALGO)))
