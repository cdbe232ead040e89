"""Which consents does a launch need, judged on the command and the environment that will run?

Whoever put a value there (playbook, option, patch, journal) is not asked. It is judged as the engine's own parser reads it:
`_` is `-`, abbreviations count, of a repeated option the last one wins. What could be read in two ways needs the consent.
"""

from __future__ import annotations

import ipaddress
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.engines.command_line import abbreviates, canonical, leaves, options
from orchestrator.on_host.secrets.secrets import redact

TRUST = "trust-remote-code"
OPEN = "listen-openly"
_PROGRAM = re.compile(r"\.(?:py|pyc|pyz|pth|so|zip|whl|egg)$", re.IGNORECASE)
_PATH = re.compile(r"(?<![\w./~-])[\w./~-][^\s\"':,;\[\]{}]*")
_DATA_VARIABLES = re.compile(r"\w*MODEL\w*|OLDPWD|PWD", re.IGNORECASE)
"""Variables that may well name the checkpoint's folder: what is read from there is data."""
_TRUSTING = re.compile(r"trust[-_]remote[-_]code\W*(?!\W*(?:false|0|no|null|none)\b)", re.IGNORECASE)
_EVERYWHERE = re.compile(r"://(?:\*|0\.0\.0\.0|\[::\])|^(?:0\.0\.0\.0|::|\[::\]|\*)(?::\d+)?$")
_BOUND = re.compile(r"(?:HOST|ADDR|ADDRESS|IP|BIND|LISTEN)$")
OFF = ("", "0", "false", "no", "off")
"""Values by which a switch is off."""


@dataclass(frozen=True)
class ConsentRules:
    """What of one engine's options asks for a consent, beside what is the same for all of them.

    `code`: options that name Python to be run, as a file or a module; a person's own choice unless it lies in the
    checkpoint's folder. `publishes`: what in a command line makes the engine listen elsewhere than on --host, "" where nothing does.
    """

    code: tuple[str, ...] = ()
    publishes: Callable[[Sequence[str]], str] = lambda _: ""


def needed(
    argv: Sequence[str], variables: Mapping[str, str], rules: ConsentRules, *, folder: str = ""
) -> dict[str, str]:
    """The consents that this command and these variables need, each with what asks for it.

    `folder` is the checkpoint's, an absolute path: code in it came with the checkpoint.
    """
    consents: dict[str, str] = {}
    trusting = _trusting(argv, variables) or _from_the_checkpoint(argv, variables, rules, folder)
    if trusting:
        consents[TRUST] = trusting
    listening = _listening(argv, variables, rules)
    if listening:
        consents[OPEN] = listening
    return consents


def _trusting(argv: Sequence[str], variables: Mapping[str, str]) -> str:
    switch = ""
    for name, value in options(argv):
        if abbreviates(name, TRUST) and name:
            switch = f"--{name}"
        elif abbreviates(name, f"no-{TRUST}") and name.startswith("no-"):
            switch = ""
        elif not name.startswith("no-") and (
            _TRUSTING.search(f"{name} {value or ''}")
            or any(_is_trusting(keys, leaf) for keys, leaf in leaves(name, value))
        ):
            return _told(f"--{name}", value)
    if switch:
        return switch
    for name, value in variables.items():
        if "TRUST_REMOTE_CODE" in name.upper() and value.lower() not in OFF:
            return redact(f"{name}={value}")
    return ""


def _is_trusting(keys: Sequence[str], leaf: Any) -> bool:
    wanted = any(canonical(key).lower() == TRUST for key in keys)
    return wanted and str(leaf).lower() not in (*OFF, "none")


def _from_the_checkpoint(
    argv: Sequence[str], variables: Mapping[str, str], rules: ConsentRules, folder: str
) -> str:
    if not folder.startswith("/"):
        return ""
    for name, value in options(argv):
        head = name.partition(".")[0]
        if head == "model":
            continue
        code = head and any(abbreviates(head, option) for option in rules.code)
        for _, leaf in leaves(name, value):
            named = _PATH.findall(str(leaf))
            if any(_leads_into(path, folder) for path in named if code or _PROGRAM.search(path)) or (
                code and any(_is_module_of(path, folder) for path in named)
            ):
                return _told(f"--{name}", value)
    for name, value in variables.items():
        named = [] if _DATA_VARIABLES.fullmatch(name) else _PATH.findall(value)
        if any(_leads_into(path, folder) for path in named):
            return redact(f"{name}={value}")
    return ""


def _leads_into(path: str, folder: str) -> bool:
    """Whether a path leads into the folder; the engine runs in the home folder, mostly somewhere above it."""
    if path.startswith("/"):
        inside = posixpath.commonpath([posixpath.normpath(path), folder]) == folder
        return inside and not path.startswith("//")
    parts = posixpath.normpath(path.removeprefix("~/")).split("/")
    parts = parts[parts.count("..") :]
    return "/" in path and any(_ends_with(folder, parts[:count]) for count in range(1, len(parts) + 1))


def _is_module_of(name: str, folder: str) -> bool:
    """Whether `models.x.guard.Guard` is found in the folder ~/models/x from the home folder."""
    parts = name.split(".")
    return any(_ends_with(folder, parts[:count]) for count in range(1, len(parts)))


def _ends_with(folder: str, parts: Sequence[str]) -> bool:
    return f"{folder}/".endswith(f"/{'/'.join(parts)}/")


def _listening(argv: Sequence[str], variables: Mapping[str, str], rules: ConsentRules) -> str:
    hosts = [value or "" for name, value in options(argv) if name and abbreviates(name, "host")]
    if not hosts:
        return "no --host, so every address"
    if not _only_here(hosts[-1]):
        return f"--host {hosts[-1]}"
    for name, value in options(argv):
        if abbreviates(name, "host") or name.startswith("allowed-"):
            continue
        if any(_EVERYWHERE.search(str(leaf)) for _, leaf in leaves(name, value)):
            return _told(f"--{name}", value)
    if publishing := rules.publishes(argv):
        return publishing
    for name, value in variables.items():
        if _BOUND.search(name.upper()) and _EVERYWHERE.search(value):
            return redact(f"{name}={value}")
    return ""


def _only_here(host: str) -> bool:
    """Whether only this machine reaches an address; of a name, or of what is no whole address, nobody knows."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _told(option: str, value: str | None) -> str:
    return redact(f"{option} {value or ''}".strip())
