"""How do the facts of a host lie in a file, for a plan or an examination without the host?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.base.errors import UsageError
from orchestrator.facts.gather import Facts, every
from orchestrator.facts.source import Fact, Unknown

VERSION = 1
"""Of the form. A release reads its own and older ones; members that it does not know are left out."""


@dataclass(frozen=True)
class Saved:
    """Facts with the host that they are of, as it was typed, and when they were read (ISO 8601, UTC)."""

    host: str
    at: str
    facts: Facts


def as_json(saved: Saved) -> dict[str, Any]:
    """{version, host, at, facts: {name: {known: value} or {unknown: {code, reason}}}}; secrets are the writer's matter."""
    return {
        "version": VERSION,
        "host": saved.host,
        "at": saved.at,
        "facts": {fact.name: _stored(fact, saved.facts.of(fact)) for fact in every()},
    }


def read(text: str, name: str) -> Saved:
    """The facts of a file of that name; raises UsageError("facts_file") for one that is none of ours.

    A single fact that cannot be read is Unknown, as on a host that does not tell it.
    """
    try:
        value = json.loads(text)
        version, host, at, stored = (value[key] for key in ("version", "host", "at", "facts"))
        whole = isinstance(stored, dict) and all(isinstance(word, str) for word in (host, at))
    except (ValueError, KeyError, TypeError, RecursionError):
        whole, version = False, None
    if not whole or not isinstance(version, int):
        raise UsageError("facts_file", f"{name} holds no facts of a host")
    if version > VERSION:
        raise UsageError("facts_file", f"{name} has the form {version}, this release reads {VERSION} at most")
    return Saved(host, at, Facts({fact.name: _value(fact, stored) for fact in every()}))


def _stored(fact: Fact[Any], value: object) -> dict[str, Any]:
    if isinstance(value, Unknown):
        return {"unknown": {"code": value.code, "reason": value.reason}}
    from pydantic import TypeAdapter

    return {"known": TypeAdapter(fact.form).dump_python(value, mode="json")}


def _value(fact: Fact[Any], stored: Mapping[str, Any]) -> object:
    from pydantic import TypeAdapter, ValidationError

    if fact.name not in stored:
        return Unknown("not_asked", "the file does not hold it")
    held = stored[fact.name]
    try:
        if isinstance(held, dict) and "unknown" in held:
            return TypeAdapter(Unknown).validate_python(held["unknown"])
        return TypeAdapter(fact.form).validate_python(held["known"])
    except (ValidationError, KeyError, TypeError):
        return Unknown("facts_file", "what the file holds of it cannot be read")
