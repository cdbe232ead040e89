"""What does vLLM's log tell of the launch: version, arguments, configuration, sizes?"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from types import MappingProxyType

from orchestrator.engines.log_grammar import Portrait

_VERSION = re.compile(
    r"(?:vLLM (?:API )?server version |LLM engine \(v|^\W{5,80}version )(?P<version>\d{1,4}\.\d{1,4}[\w.+-]{0,80})"
)
_ENGINE_CONFIG = re.compile(r"LLM engine \(v[^)]{0,200}\) with config: (?P<config>.*)$")
_SETTING = re.compile(r"(?P<key>\b[a-z]\w{0,80})=(?:'(?P<quoted>[^']*)'|(?P<plain>[^,()\s]+))")
_ARGUMENTS = re.compile(
    r"^.{0,400}?(?:non-default args: (?P<dict>\{.*\})|args: Namespace\((?P<namespace>.*)\)$)"
)
_PAIR = re.compile(r"'(?P<key>\w{1,80})': (?P<value>'[^']*'|\"[^\"]*\"|\[[^\]]{0,2000}\]|[^,}\s]+)")
_COMMAND = re.compile(
    r"^[+$#>] ?(?:nohup |exec |sudo |env ){0,8}(?P<command>(?:\S{0,400}/)?vllm serve .*|\S{0,400}python\S{0,40} -m vllm\.\S{1,200} .*)$"
)
_FLAG = re.compile(r"--(?P<name>[A-Za-z][\w-]*)(?:[= ](?P<value>'[^']*'|\"[^\"]*\"|(?!--)\S+))?")
_KV_DTYPE = re.compile(r"Using (?P<dtype>\S{1,80}) data type to store kv cache")
_KV_TOKENS = re.compile(r"KV cache size: (?P<tokens>[\d,]{1,20}) tokens")
_CAPABILITY = re.compile(
    r"Device capability (?P<capability>\d{1,3}\.\d{1,3}) not supported|compute capability (?P<also>\d{1,3}\.\d)\b"
)
_BACKEND = re.compile(r"Using (?P<backend>[A-Z][A-Z0-9_]{1,80}) (?:attention )?backend")
# Up to 0.19 the server does not learn of it, and goes on to name the model's own in /v1/models.
_FITTED = re.compile(r"Auto-fit max_model_len: reduced from \d{1,12} to (?P<context>\d{1,9})\b")

DETAIL_HINTS = ("data type to store kv cache", "capability", "backend", "Auto-fit max_model_len")
DETAILS = (
    _KV_DTYPE.pattern,
    _CAPABILITY.pattern,
    _BACKEND.pattern,
    _FITTED.pattern,
)
COMMANDS = (r"vllm serve | -m vllm\.",)


def of_a_milestone(text: str) -> Portrait:
    """What a milestone tells."""
    version = _VERSION.search(text) if "version " in text or "LLM engine (v" in text else None
    listed = _ARGUMENTS.search(text) if "args: " in text else None
    config = _ENGINE_CONFIG.search(text)
    tokens = _KV_TOKENS.search(text)
    return Portrait(
        version=version["version"] if version else None,
        arguments=_arguments(listed["dict"], listed["namespace"]) if listed else None,
        settings=MappingProxyType(_settings(config["config"])) if config else None,
        kv_tokens=int(tokens["tokens"].replace(",", "")) if tokens else None,
    )


def of_a_detail(text: str) -> Portrait:
    """What any other line of a start tells."""
    dtype, capability, backend = _KV_DTYPE.search(text), _CAPABILITY.search(text), _BACKEND.search(text)
    fitted = _FITTED.search(text)
    return Portrait(
        settings=MappingProxyType({"kv_cache_dtype": dtype["dtype"]}) if dtype else None,
        compute_cap=(capability["capability"] or capability["also"]) if capability else None,
        attention_backend=backend["backend"] if backend else None,
        context=int(fitted["context"]) if fitted else None,
    )


def commanded(text: str) -> Mapping[str, str] | None:
    """The arguments of the command that a shell echoed, where it starts a server of vLLM."""
    if not _COMMAND.match(text):
        return None
    return MappingProxyType(
        {
            flag["name"].replace("-", "_"): (flag["value"] or "True").strip("'\"")
            for flag in _FLAG.finditer(text)
        }
    )


def _settings(text: str) -> dict[str, str]:
    """`key=value` pairs; of a name that nested configurations repeat, the first counts."""
    settings: dict[str, str] = {}
    for pair in _SETTING.finditer(text):
        settings.setdefault(pair["key"], pair["quoted"] if pair["quoted"] is not None else pair["plain"])
    return settings


def _arguments(listed: str | None, namespace: str | None) -> Mapping[str, str]:
    if namespace is not None:
        return MappingProxyType(_settings(namespace))
    try:
        given = ast.literal_eval(listed or "{}")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return MappingProxyType(
            {pair["key"]: pair["value"].strip("'\"") for pair in _PAIR.finditer(listed or "")}
        )
    return MappingProxyType(
        {str(key): str(value) for key, value in given.items()} if isinstance(given, dict) else {}
    )
