"""Under which circumstances is something done, or certain?"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from orchestrator.base.frozen import Frozen
from orchestrator.patches import formula
from orchestrator.patches.pointer import Documents, Place, PlaceName, text_of, value_at
from orchestrator.patches.versions import OfEngines
from orchestrator.patches.wanted import Settings, Specifier, Words, checked


def _formula(value: str, info: ValidationInfo) -> str:
    return value if checked(info) else formula.check(value)


Formula = Annotated[str, AfterValidator(_formula)]
Members = Mapping[PlaceName, Words | None]


class When(OfEngines):
    """Circumstances, all of which must be known to hold: `holds` is a formula that comes out true.

    `config` are values of the checkpoint's config files by their place: "/quantization_config/quant_method" is a JSON
    pointer into config.json, "hf_quant_config.json#/producer/name" one into another file, "./quant_method" one from where
    a config edit is made. A value fits a shell pattern (upper and lower case are one) by its text, or by the word object
    or list; "!x" is anything but x, nothing too; null is nothing, or null itself. A kind of engine has a key of its own, for
    the versions of it (vllm: ">=0.14,<0.18"): no other engine fits. `cache_type` is what the config files alone make the
    engine store its KV cache as, whatever an option or a log says: "auto" is the model's own dtype. `model` is what the
    engine reads out of them by the names of the text model's keys, `host` what is measured on the host, `variables` are of
    the engine's environment; `plan/known.py` says which there are. Each of them is known before a launch alone.
    """

    arguments: Settings = Field(default_factory=dict)
    engine: Settings = Field(default_factory=dict)
    compute_cap: Words = ()
    gpus: Specifier | None = None
    attention: Words = ()
    cache_type: Words = ()
    model: Settings = Field(default_factory=dict)
    host: Settings = Field(default_factory=dict)
    variables: Settings = Field(default_factory=dict)
    config: Members = Field(default_factory=dict)
    holds: Formula | None = None


def one_or_more(value: Any) -> Any:
    """One thing as a list of one."""
    return value if isinstance(value, (list, tuple)) else (value,)


Whens = Annotated[
    tuple[When, ...], BeforeValidator(one_or_more, json_schema_input_type=When | tuple[When, ...])
]
"""Circumstances, one of which must hold as a whole."""


class RefusedForm(Frozen):
    """A form of a config file in which nothing is edited, because nobody knows what that would do: it `says` what is there.
    {PLACE} in it is the value there. Where it is known that an edit would do harm, `instead` is what does what is wanted, as
    an option of the engine (NAME=VALUE)."""

    when: Whens = ()
    unless: Whens = ()
    says: str
    instead: str | None = None


def members_fit(wanted: Members, documents: Documents | None, at: Place) -> bool:
    """Whether every value is known to fit."""
    if documents is None:
        return not wanted
    return all(_fits(value_at(at.to(place), documents), patterns) for place, patterns in wanted.items())


def _fits(value: Any, patterns: tuple[str, ...] | None) -> bool:
    text = text_of(value)
    if patterns is None:
        return text is None
    return any(
        not _is(text, pattern[1:]) if pattern.startswith("!") else _is(text, pattern) for pattern in patterns
    )


def _is(text: str | None, pattern: str) -> bool:
    return text is not None and fnmatchcase(text.lower(), pattern.lower())
