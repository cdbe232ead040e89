"""Which engine arguments may a playbook hold, which may a remedy touch, and how does each become part of a command line?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from orchestrator.engines.options import OptionValue
from orchestrator.on_host.secrets.secrets import brief

NAME = re.compile(r"[a-z][a-z0-9-]*(\.[A-Za-z0-9_.-]+)?")
"""A long option without its dashes; what follows a dot is a key inside a JSON option (kernel-config.x)."""

RESERVED = {
    "model": "set model.repository and checkpoint.folder instead",
    "model-tag": "set model.repository and checkpoint.folder instead",
    "served-model-name": "set model.served_name instead",
    "revision": "set model.revision instead",
    "download-dir": "set checkpoint.folder instead",
    "host": "set listen instead",
    "port": "set port instead",
    "tensor-parallel-size": "set parallel.tensor instead",
    "pipeline-parallel-size": "set parallel.pipeline instead",
    "data-parallel-size": "set parallel.data instead",
    "max-model-len": "set context instead",
    "api-key": "any user of the host can read it in the process list; pass --env VLLM_API_KEY instead",
    "hf-token": "any user of the host can read it in the process list; pass --env HF_TOKEN instead",
    "config": "a second file of arguments would hide them from the plan; write them here instead",
    "uds": "health is asked over TCP; set listen and port instead",
    "headless": "the API server's module form ignores it; it cannot be used here",
    "api-server-count": "the API server's module form ignores it; it cannot be used here",
}

PERSONAL = (
    "root-path", "grpc*", "ssl-*", "enable-ssl-refresh", "allow-credentials", "allowed-*", "middleware",
    "tokenizer", "tokenizer-revision", "code-revision", "hf-config-path", "chat-template", "trust-request-*",
    "tool-parser-plugin", "reasoning-parser-plugin", "io-processor-plugin", "logits-processors", "logits-processor-pattern",
    "worker-cls", "worker-extension-cls", "scheduler-cls", "model-class-overrides", "log-config-file", "logging-config",
    "tool-server", "otlp-traces-endpoint", "master-addr", "data-parallel-address", "profiler-config",
)  # fmt: skip
"""Who is let in, whose code and files are loaded, where something is sent: a person's to choose, a remedy leaves them
alone, as it does all that is reserved but the length of the context. A star stands for any ending."""
DROPPED_ONLY = (
    "speculative-config", "spec-model", "hf-overrides", "model-loader-extra-config", "lora-modules", "default-mm-loras",
    "kv-transfer-config", "ec-transfer-config", "kv-events-config", "weight-transfer-config",
)  # fmt: skip
"""What may name a model, a module or an address: a remedy takes it away, and never sets it."""


_LOADS_CODE = re.compile(r"plugin|module|cls$|class|passes|auto[-_]map|qualname|callable", re.IGNORECASE)
"""A key inside a value that names Python to be run, as reasoning_parser_plugin within structured_outputs_config does."""
_BY_NAME = ("distributed-executor-backend",)
"""What may be a word of vLLM's own, or the path of a class."""


def canonical(name: str) -> str:
    """The name as vLLM's own parser sees it: `_` and `-` are the same before the first dot."""
    head, dot, tail = name.partition(".")
    return head.replace("_", "-") + dot + tail


def options(argv: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Every long option of a command line by its canonical name, in order, with its value (None: a bare option)."""
    for here, following in zip(argv, (*argv[1:], "--"), strict=False):
        if here.startswith("--"):
            name, equals, value = here[2:].partition("=")
            yield canonical(name), value if equals else None if following.startswith("--") else following


def leaves(name: str, value: str | None) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each single value of an option with the keys that lead to it: the parser takes JSON, and keys after a dot."""
    try:
        whole = json.loads(value or "")
    except (ValueError, RecursionError):
        whole = value or ""
    yield from _inner(tuple(name.split(".")[1:]), whole)


def _inner(keys: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _inner((*keys, key), inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _inner(keys, inner)
    else:
        yield keys, value


def checked_name(name: Any) -> str:
    """The canonical name of an argument that a playbook may hold; ValueError says what to write instead."""
    if not isinstance(name, str):
        raise ValueError(f"{name!r} is not a name; write the option's long name without dashes")
    if name.startswith("-"):
        raise ValueError(f"write the option's long name without dashes: {name.lstrip('-') or '...'}")
    if not NAME.fullmatch(canonical(name)):
        raise ValueError(
            f"{brief(name, 60)!r} is not an option's long name; allowed: a-z, 0-9, - (max-num-seqs)"
        )
    for reserved, instead in RESERVED.items():
        if abbreviates(name.partition(".")[0], reserved):
            raise ValueError(f"is not set as an argument: {instead}")
    return canonical(name)


def abbreviates(name: str, option: str) -> bool:
    """Whether a parser that takes abbreviations could read `name` as this option."""
    return option.startswith(canonical(name))


def remedied_name(name: str, op: str, value: str | None = None) -> str:
    """The canonical name of an option that a remedy may set to a value, or take away (`op`); ValueError says why it may
    not."""
    bare = canonical(name.removeprefix("--"))
    if not name.startswith("--") or not NAME.fullmatch(bare):
        raise ValueError(f"{name[:60]!r} is not an option's long name; allowed: --NAME (--max-num-seqs)")
    head = bare.partition(".")[0].removeprefix("no-")
    if head == "reasoning-parser":  # an option of its own, though it abbreviates that of the plugin
        return bare
    reserved = [one for one in RESERVED if one != "max-model-len"]
    for option in (*reserved, *PERSONAL, *(DROPPED_ONLY if op == "set" else ())):
        family = option.removesuffix("*")
        if abbreviates(head, family) or (family != option and head.startswith(family)):
            raise ValueError(f"a remedy may not {op} --{bare}: --{option} is for a person to choose")
    for keys, leaf in leaves(bare, value if op == "set" else ""):
        if any(_LOADS_CODE.search(key) for key in keys) or (head in _BY_NAME and "." in str(leaf)):
            raise ValueError(
                f"a remedy may not {op} --{bare} to what names code: that is for a person to choose"
            )
    return bare


def checked_value(value: Any) -> OptionValue:
    """The value of an argument that a playbook may hold; ValueError says what is allowed."""
    if value is False:
        raise ValueError("false is not a value; leave the argument out, or write no-NAME: true")
    if isinstance(value, str) and re.search(r"[\0\r\n]", value):
        raise ValueError("a value is one line without NUL characters")
    if not isinstance(value, bool | int | float | str | list | dict):
        raise ValueError(
            "is empty; allowed: true (a bare option), a number, text, a list or a mapping (JSON)"
        )
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        raise ValueError("infinity and NaN are no numbers of JSON") from None
    return value


def rendered(name: str, value: OptionValue) -> tuple[str, ...]:
    """The items of a command line for one argument: a bare option, or the option and its value."""
    option = f"--{canonical(name)}"
    if value is True:
        return (option,)
    text = text_of(value)
    # as an item of its own, a value that begins with a dash would be read as another option
    return (f"{option}={text}",) if text.startswith("-") else (option, text)


def text_of(value: OptionValue) -> str:
    """A value as the text that vLLM reads."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def arguments_of(argv: tuple[str, ...]) -> Mapping[str, str]:
    """The options of a command line, by name with underscores; a switch has the value "True"."""
    found: dict[str, str] = {}
    for here, following in zip(argv, (*argv[1:], "--"), strict=True):
        if not here.startswith("--"):
            continue
        name, given, value = here[2:].partition("=")
        found[name.replace("-", "_")] = (
            value if given else "True" if following.startswith("--") else following
        )
    return MappingProxyType(found)
