"""Which members of a checkpoint's config files make vLLM quantise the KV cache, and how are they taken out?

vLLM reads `quantization_config` at the top of config.json, and hf_quant_config.json only where that is
absent. ModelOpt's legacy layout (a `quantization` object) requires `kv_cache_quant_algo` to be present
for NVFP4 (`ModelOptNvFp4Config`), so there the key becomes null; elsewhere the member is removed.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from packaging.version import Version

from orchestrator.base.errors import CheckpointError
from orchestrator.checkpoint import json_spans

CONFIG = "config.json"
SIDECAR = "hf_quant_config.json"

_BLOCK = "quantization_config"
_SCHEME = "kv_cache_scheme"
_ALGO = "kv_cache_quant_algo"
_PROPAGATING = ("kimi_k25", "kimi_k3", "step5")
"""Wrapper classes of vLLM that lift text_config's quantization_config to the top."""


@dataclass(frozen=True)
class Edit:
    """One member taken out of one file; `path` is a JSON pointer, `before` the value it had."""

    file: str
    path: str
    op: Literal["remove", "null", "add"]
    before: Any


@dataclass(frozen=True)
class KVEdits:
    """The edits of a checkpoint, with the bytes of each changed file before and after."""

    edits: tuple[Edit, ...]
    before: Mapping[str, bytes]
    after: Mapping[str, bytes]


_Found = tuple[tuple[str, ...], Literal["remove", "null", "add"], Any]
_CHANGES: Mapping[str, Callable[..., bytes]] = {
    "remove": json_spans.remove,
    "null": json_spans.set_null,
    "add": json_spans.add_null,
}


def plan_edits(files: Mapping[str, bytes]) -> KVEdits:
    """The edits after which `--kv-cache-dtype auto` means the model's own dtype.

    `files` holds "config.json" and perhaps "hf_quant_config.json". Nothing to do, or already done,
    gives no edits. Raises CheckpointError: "config_broken" for a file that is no JSON,
    "config_shape" for a form whose meaning in vLLM is not known.
    """
    config = _object(files, CONFIG)
    sidecar = _object(files, SIDECAR) if SIDECAR in files else {}
    top, nested = _blocks(config)
    found: dict[str, list[_Found]] = {CONFIG: [], SIDECAR: []}
    for path, block in (((_BLOCK,), top), (("text_config", _BLOCK), nested)):
        if block is not None:
            found[CONFIG] += [(path + tail, op, value) for tail, op, value in _in_block(config, block)]
    # Beside a config.json that speaks for itself vLLM ignores the sidecar: it is kept in step, never alone.
    if top is None or found[CONFIG]:
        found[SIDECAR] += _in_sidecar(sidecar, decides=top is None)
    return _carry_out(files, found)


def plan_restored_key(files: Mapping[str, bytes]) -> KVEdits:
    """The edit that gives ModelOpt's legacy sidecar back the key which somebody took out of it, as null.

    Nothing to do gives no edits. Raises CheckpointError as `plan_edits` does.
    """
    sidecar = _object(files, SIDECAR) if SIDECAR in files else {}
    legacy = sidecar.get("quantization")
    lost = isinstance(legacy, dict) and _ALGO not in legacy
    added: list[_Found] = [(("quantization", _ALGO), "add", None)] if lost else []
    return _carry_out(files, {SIDECAR: added})


def resolved_kv_dtype(files: Mapping[str, bytes], vllm_version: str) -> str:
    """What `--kv-cache-dtype auto` becomes: "auto" (the model's dtype), "fp8_e4m3" or "nvfp4".

    Follows `resolve_kv_cache_dtype_string` (vLLM 0.14.0 and newer; 0.20.0 knows nvfp4) and, for
    compressed-tensors, the switch to fp8 in `Attention` (0.15.0 and newer, not in `MLAAttention`).
    """
    version = Version(Version(vllm_version).base_version)
    config = _object(files, CONFIG)
    block, method = _read_by_vllm(config, _object(files, SIDECAR) if SIDECAR in files else {}, version)
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


def unified_diff(edits: KVEdits) -> str:
    """The edits as one unified diff, a/FILE against b/FILE, as `patch -p1` takes it."""
    text = ""
    for name, after in edits.after.items():
        old, new = (_lines(data) for data in (edits.before[name], after))
        for line in difflib.unified_diff(old, new, f"a/{name}", f"b/{name}"):
            text += line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
    return text


def _lines(data: bytes) -> list[str]:
    return [line for line in data.decode("utf-8").replace("\n", "\n\0").split("\0") if line]


def _object(files: Mapping[str, bytes], name: str) -> dict[str, Any]:
    if name not in files:
        raise CheckpointError("config_broken", f"the checkpoint has no {name}")
    found = json_spans.value(files[name], name=name)
    if not isinstance(found, dict):
        raise _unknown(name, f"holds {_kind(found)} where an object is expected")
    return found


def _unknown(file: str, what: str) -> CheckpointError:
    return CheckpointError(
        "config_shape", f"{file} {what}; what vLLM makes of that is not known here, so nothing is edited"
    )


def _kind(value: Any) -> str:
    kinds = {"bool": "a boolean", "int": "a number", "float": "a number", "str": "a string", "list": "a list"}
    return kinds.get(type(value).__name__, "an object")


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict)


def _is_mla(config: Mapping[str, Any]) -> bool:
    text = config.get("text_config")
    return any(isinstance(part, dict) and part.get("kv_lora_rank") for part in (config, text))


def _blocks(config: dict[str, Any]) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """`quantization_config` at the top and in text_config; raises for what could mean two things."""
    text = config.get("text_config")
    parts = {"": config, "text_config.": text if isinstance(text, dict) else {}}
    found = []
    for prefix, part in parts.items():
        if part.get("compression_config") is not None:
            raise _unknown(CONFIG, f"uses the old key {prefix}compression_config")
        block = part.get(_BLOCK)
        if block is not None and not isinstance(block, dict):
            raise _unknown(CONFIG, f"has {_kind(block)} as {prefix}{_BLOCK}")
        found.append(block)
    if found[0] is not None and found[1] is not None:
        raise _unknown(CONFIG, f"has two of them: {_BLOCK} and text_config.{_BLOCK}")
    return found[0], found[1]


def _method(block: Mapping[str, Any]) -> str:
    method = block.get("quant_method")
    return method.lower() if isinstance(method, str) else ""


def _by_modelopt(block: Mapping[str, Any]) -> bool:
    producer = block.get("producer")
    return isinstance(producer, dict) and producer.get("name") == "modelopt"


def _in_block(config: Mapping[str, Any], block: dict[str, Any]) -> list[_Found]:
    method = _method(block)
    if method == "fp8":  # DeepSeek-V4: its own code chooses the KV dtype, and it needs fp8
        return []
    if method == "compressed-tensors":
        return _compressed_tensors(config, block)
    found = list(_members(block, CONFIG))
    if found and not (method.startswith("modelopt") or (not method and _by_modelopt(block))):
        raise _unknown(CONFIG, f'declares a KV cache dtype under quant_method "{method}"')
    return found


def _compressed_tensors(config: Mapping[str, Any], block: dict[str, Any]) -> list[_Found]:
    scheme = block.get(_SCHEME)
    if scheme is None or _is_mla(config):  # MLAAttention never looks at it
        return []
    if not isinstance(scheme, dict):
        raise _unknown(CONFIG, f"has {_kind(scheme)} as {_SCHEME}")
    if scheme.get("strategy") == "attn_head":
        raise _unknown(
            CONFIG, "has KV scales per attention head, whose tensors do not load without the scheme"
        )
    return [((_SCHEME,), "remove", scheme)]


def _members(block: dict[str, Any], file: str) -> Iterator[_Found]:
    legacy = block.get("quantization")
    if legacy is not None and not isinstance(legacy, dict):
        raise _unknown(file, f"has {_kind(legacy)} as quantization")
    in_sidecar = file == SIDECAR
    for path, part in (((), block), (("quantization",), legacy or {})):
        for key, allowed in ((_SCHEME, (dict, str)), (_ALGO, (str,))):
            value = part.get(key)
            if value is None:
                continue
            if not isinstance(value, allowed):
                raise _unknown(file, f"has {_kind(value)} as {key}")
            required = key == _ALGO and (path or in_sidecar)
            yield (*path, key), "null" if required else "remove", value


def _in_sidecar(sidecar: dict[str, Any], *, decides: bool) -> list[_Found]:
    if not _by_modelopt(sidecar) and not decides:
        return []
    found = list(_members(sidecar, SIDECAR))
    if found and not _by_modelopt(sidecar):
        raise _unknown(SIDECAR, "was not written by modelopt")
    return found


def _carry_out(files: Mapping[str, bytes], found: Mapping[str, list[_Found]]) -> KVEdits:
    edits: list[Edit] = []
    after: dict[str, bytes] = {}
    for name, members in found.items():
        data = files.get(name, b"")
        for path, op, value in members:
            data = _CHANGES[op](data, path, name=name)
            edits.append(Edit(name, "/" + "/".join(path), op, value))
        if members:
            after[name] = data
    return KVEdits(tuple(edits), {name: files[name] for name in after}, after)


def _read_by_vllm(
    config: dict[str, Any], sidecar: dict[str, Any], version: Version
) -> tuple[dict[str, Any], str]:
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
