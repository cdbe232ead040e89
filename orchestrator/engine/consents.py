"""Which consents does a launch need, judged on the command and the environment that will run?

Whoever put a value there (playbook, option, patch, journal) is not asked. It is judged as vLLM's own parser reads it:
`_` is `-`, abbreviations count, of a repeated option the last one wins. What could be read in two ways needs the consent.
"""

from __future__ import annotations

import ipaddress
import json
import posixpath
import re
from collections.abc import Mapping, Sequence

from orchestrator.engine.arguments import abbreviates, options

TRUST = "trust-remote-code"
OPEN = "listen-openly"
CODE_OPTIONS = (
    "tool-parser-plugin", "reasoning-parser-plugin", "io-processor-plugin", "logits-processors", "middleware", "worker-cls",
    "worker-extension-cls", "scheduler-cls", "model-class-overrides", "kv-transfer-config", "ec-transfer-config",
)  # fmt: skip
"""Options that name Python to be run; a person's own choice unless it lies in the checkpoint's folder."""
CODE_VARIABLES = ("PYTHONPATH", "PYTHONSTARTUP", "LD_PRELOAD", "LD_LIBRARY_PATH", "VLLM_PLUGINS")
_TRUSTING = re.compile(r"trust[-_]remote[-_]code\W*(?!\W*(?:false|0|no|null|none)\b)", re.IGNORECASE)
_EVERYWHERE = re.compile(r"://(?:\*|0\.0\.0\.0|\[::\])|^(?:0\.0\.0\.0|::|\[::\]|\*)(?::\d+)?$")
_BOUND = re.compile(r"(?:HOST|ADDR|ADDRESS|IP|BIND|LISTEN)$")
_OFF = ("", "0", "false", "no", "off")


def needed(argv: Sequence[str], variables: Mapping[str, str], *, folder: str = "") -> dict[str, str]:
    """The consents that this command and these variables need, each with what asks for it.

    `folder` is the checkpoint's, an absolute path: code in it came with the checkpoint.
    """
    found: dict[str, str] = {}
    trusting = _trusting(argv, variables) or _from_the_checkpoint(argv, variables, folder)
    if trusting:
        found[TRUST] = trusting
    listening = _listening(argv, variables)
    if listening:
        found[OPEN] = listening
    return found


def _trusting(argv: Sequence[str], variables: Mapping[str, str]) -> str:
    switch = ""
    for name, value in options(argv):
        if abbreviates(name, TRUST) and name:
            switch = f"--{name}"
        elif abbreviates(name, f"no-{TRUST}") and name.startswith("no-"):
            switch = ""
        elif _TRUSTING.search(f"{name} {value or ''}") and not name.startswith("no-"):
            return f"--{name} {value or ''}".strip()
    if switch:
        return switch
    for name, value in variables.items():
        if "TRUST_REMOTE_CODE" in name.upper() and value.lower() not in _OFF:
            return f"{name}={value}"
    return ""


def _from_the_checkpoint(argv: Sequence[str], variables: Mapping[str, str], folder: str) -> str:
    if not folder.startswith("/"):
        return ""
    for name, value in options(argv):
        if name.partition(".")[0] in CODE_OPTIONS and _names_within(value or "", folder):
            return f"--{name} {value}"
    for name in CODE_VARIABLES:
        if _names_within(variables.get(name, ""), folder):
            return f"{name}={variables[name]}"
    return ""


def _names_within(text: str, folder: str) -> bool:
    paths = re.findall(r"/[^\s\"':,;]*", text)
    return any(
        posixpath.commonpath([posixpath.normpath(path), folder]) == folder
        for path in paths
        if not path.startswith("//")
    )


def _listening(argv: Sequence[str], variables: Mapping[str, str]) -> str:
    hosts = [value or "" for name, value in options(argv) if name and abbreviates(name, "host")]
    if not hosts:
        return "no --host, so every address"
    if not _only_here(hosts[-1]):
        return f"--host {hosts[-1]}"
    for name, value in options(argv):
        if abbreviates(name, "host"):
            continue
        if _EVERYWHERE.search(value or "") and not name.startswith("allowed-"):
            return f"--{name} {value}"
        if name == "kv-events-config" and _publishes_everywhere(value or ""):
            return f"--{name} {value}"
    for name, value in variables.items():
        if _BOUND.search(name.upper()) and _EVERYWHERE.search(value):
            return f"{name}={value}"
    return ""


def _only_here(host: str) -> bool:
    """Whether only this machine reaches an address; of a name, or of what is no whole address, nobody knows."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _publishes_everywhere(text: str) -> bool:
    """vLLM publishes KV events at tcp://*:5557 where no endpoint is named (config/kv_events.py)."""
    try:
        config = json.loads(text)
    except ValueError:
        return False
    return (
        isinstance(config, dict) and bool(config.get("enable_kv_cache_events")) and "endpoint" not in config
    )
