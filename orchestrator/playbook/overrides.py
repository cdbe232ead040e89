"""What do --set, --engine-arg and --env change in a playbook's data?"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.base import yaml_text
from orchestrator.base.errors import UsageError
from orchestrator.engines.command_line import canonical
from orchestrator.on_host.secrets.secrets import brief, is_secret

OPEN_KEYS = ("arguments", "environment")
"""Mappings whose keys may hold dots themselves: the rest of a path is one key."""


@dataclass(frozen=True)
class Override:
    """One option: the key that it sets, the value, and how the person typed it (a secret left out)."""

    option: str
    path: tuple[str, ...]
    value: Any
    text: str

    def as_text(self) -> Override:
        """The same with the value as it was typed, not as YAML reads it."""
        return replace(self, value=self.text)


def parse_overrides(
    settings: Sequence[str], engine_args: Sequence[str], env: Sequence[str], ambient: Mapping[str, str]
) -> tuple[Override, ...]:
    """The options in the order in which they take effect; UsageError("invalid_option") for a malformed one."""
    for text in (*settings, *engine_args, *env):
        if any("\ud800" <= sign <= "\udfff" for sign in text):  # as Python takes in bytes that are no UTF-8
            name = text.partition("=")[0].encode("utf-8", "replace").decode()
            raise UsageError("invalid_option", f"{name[:80]}: its value is not UTF-8 text")
    return (
        *(_setting(text) for text in settings),
        *(_engine_argument(text) for text in engine_args),
        *(_variable(text, ambient) for text in env),
    )


def apply_overrides(data: Mapping[str, Any], overrides: Sequence[Override]) -> dict[str, Any]:
    """A copy of a playbook's data with each override in its place; a value of None takes the key away."""
    changed = copy.deepcopy(dict(data))
    for item in overrides:
        place: Any = changed
        for number, part in enumerate(item.path[:-1], start=1):
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                inner = ".".join(item.path[:number])
                raise UsageError("invalid_option", f"{item.option}: {inner} holds no further keys")
        if item.value is None:
            place.pop(item.path[-1], None)
        else:
            place[item.path[-1]] = item.value
    return changed


def _setting(text: str) -> Override:
    key, equals, typed = text.partition("=")
    parts = key.split(".")
    if parts[0] in OPEN_KEYS and len(parts) > 1:
        parts = [parts[0], ".".join(parts[1:])]
    if not equals or not all(parts):
        raise UsageError(
            "invalid_option", f"--set {brief(text, 80)}: write --set KEY=VALUE, such as --set port=8001"
        )
    if parts[0] in ("name", "source"):
        raise UsageError("invalid_option", f"--set {key}: a playbook's name is that of its file")
    if parts[0] == "arguments" and len(parts) > 1:
        parts[1] = canonical(parts[1])
    shown = _shown("--set", key, text)
    return Override(shown, tuple(parts), _yaml(typed, shown), typed)


def _shown(option: str, name: str, text: str) -> str:
    """The option as an error repeats it: without the value where the name says that it is secret, or is no name at all."""
    plain = re.fullmatch(r"[\w.-]+", name) and not is_secret(name)
    return f"{option} {brief(text if plain else name, 80)}"


def _yaml(text: str, option: str) -> Any:
    """What the text means in YAML, or the text itself where it is none."""
    try:
        return yaml_text.read(text).value
    except yaml_text.Excessive as error:
        raise UsageError("invalid_option", f"{option}: {error.reason}") from None
    except yaml_text.Wrong:
        return text


def _engine_argument(text: str) -> Override:
    name, equals, typed = text.removeprefix("--").partition("=")
    value: Any = {"true": True, "false": False}.get(typed.lower(), typed) if equals else True
    return Override(_shown("--engine-arg", name, text), ("arguments", canonical(name)), value, typed)


def _variable(text: str, ambient: Mapping[str, str]) -> Override:
    name, equals, typed = text.partition("=")
    if not equals:
        if name not in ambient:
            raise UsageError(
                "invalid_option",
                f"--env {brief(name, 80)}: is not set here; write --env {brief(name, 80)}=VALUE",
            )
        typed = ambient[name]
    value = {"value": typed, "reason": "given with --env"}
    return Override(f"--env {brief(name, 80)}", ("environment", name), value, typed)
