"""What may a remedy do, under which circumstances, and at what cost?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator

from orchestrator.engines.vllm.arguments import abbreviates, canonical, leaves, remedied_name
from orchestrator.engines.vllm.variables import remedied_variable
from orchestrator.patches import formula
from orchestrator.patches.wanted import Frozen, Settings, Specifier, Words, checked

CLEANUPS = ("shm", "orphan_processes", "gpu_memory_wait", "compile_cache", "stale_lock")
"""What can be cleaned; only what belongs to our launches, or is a cache that fills again."""
TEMPLATE = re.compile(r"\{(\w+)\}")
"""A group of the pattern within a value; other braces are themselves."""
TRUST = "trust-remote-code"
Kind = Literal["config", "flag", "env", "cleanup", "redownload", "install"]
Consent = Literal["trust-remote-code", "install", "listen-openly", "foreign-folder"]


def _formula(value: str, info: ValidationInfo) -> str:
    return value if checked(info) else formula.check(value)


Formula = Annotated[str, AfterValidator(_formula)]


class ConfigEdit(Frozen):
    """One change of a checkpoint's JSON file; `path` is a JSON pointer."""

    file: str
    path: str
    op: Literal["remove", "set"]
    value: Any = None


EDITS: Mapping[str, tuple[ConfigEdit, ...]] = {
    # the sidecar's key must stay: without it vLLM refuses the checkpoint ("NVFP4 quantization requires
    # the following fields in hf_quant_config.json")
    "drop-kv-cache-quantisation": (
        ConfigEdit(file="config.json", path="/quantization_config/kv_cache_scheme", op="remove"),
        ConfigEdit(
            file="hf_quant_config.json", path="/quantization/kv_cache_quant_algo", op="set", value=None
        ),
    ),
    "restore-kv-cache-key": (
        ConfigEdit(
            file="hf_quant_config.json", path="/quantization/kv_cache_quant_algo", op="set", value=None
        ),
    ),
}
"""The named config edits that a patch may ask for, as what they come to in the common layout."""


class When(Frozen):
    """Circumstances, all of which must be known to hold: `holds` is a formula that comes out true."""

    arguments: Settings = Field(default_factory=dict)
    engine: Settings = Field(default_factory=dict)
    vllm: Specifier | None = None
    compute_cap: Words = ()
    gpus: Specifier | None = None
    holds: Formula | None = None


class Action(Frozen):
    """One action of a remedy, or a named config edit. `consent` names the consent without which it is not taken.

    `value` is a text in which {name} is a group of the pattern; `formula` works a number out instead.
    """

    kind: Kind
    edit: str | None = None
    name: str | None = None
    op: Literal["set", "remove"] | None = None
    value: str | None = None
    formula: Formula | None = None
    when: When | None = None
    unless: When | None = None
    consent: Consent | None = None

    @model_validator(mode="after")
    def _complete(self, info: ValidationInfo) -> Action:
        if self.kind == "config":
            if self.edit not in EDITS:
                raise ValueError(f"config needs an edit that is known; allowed: {', '.join(EDITS)}")
        elif self.name is None:
            raise ValueError(f"{self.kind} needs a name")
        if self.kind == "cleanup" and self.name not in CLEANUPS:
            raise ValueError(f"cleanup knows no {self.name}; allowed: {', '.join(CLEANUPS)}")
        if self.kind in ("flag", "env"):
            if self.op is None:
                raise ValueError(f"{self.kind} needs an op; allowed: set, remove")
            if self.op == "set" and (self.value is None) == (self.formula is None):
                raise ValueError(f"{self.kind} set needs one of value, formula")
            if not checked(info):
                self._touches_what_it_may(self.name or "", self.op)
        if self.kind == "install" and self.consent is None:
            raise ValueError("install needs a consent; allowed: install")
        return self

    def _touches_what_it_may(self, name: str, op: str) -> None:
        if TEMPLATE.search(name):
            if op == "set":
                raise ValueError(f"{name} is text of a log, which never names what is set; allowed: a name")
            if not TEMPLATE.fullmatch(name):
                raise ValueError(f"{name!r} is more than a group; allowed: a name, or one {{group}}")
            return
        if self.kind == "env":
            remedied_variable(name, op, self.value)
            return
        bare = remedied_name(name, op, self.value)
        trusting = abbreviates(bare, TRUST) or any(
            canonical(key).lower() == TRUST for keys, _ in leaves(bare, self.value) for key in keys
        )
        if op == "set" and trusting and self.consent != TRUST:
            raise ValueError(f"{name} runs code of the checkpoint; allowed: with consent: {TRUST}")

    def groups(self) -> set[str]:
        """The named groups of a pattern that `name` and `value` use as {group}."""
        return {group for text in (self.name, self.value) for group in TEMPLATE.findall(text or "")}


class Way(Frozen):
    """One alternative of a remedy: what it does, when it may be taken, what it costs.

    `conflicts` names patches whose remedy it would undo or break, each with the reason: while one of them is in
    force, this way is not taken.
    """

    do: Annotated[tuple[Action, ...], Field(min_length=1)]
    when: When | None = None
    unless: When | None = None
    cost: str = ""
    conflicts: Mapping[str, str] = Field(default_factory=dict)


def _ways(value: Any) -> Any:
    """A plain list of actions is one way."""
    if isinstance(value, (list, tuple)) and value and all(_is_action(item) for item in value):
        return ({"do": value},)
    return value


def _is_action(item: Any) -> bool:
    return isinstance(item, Action) or (isinstance(item, Mapping) and "kind" in item)


Ways = Annotated[
    tuple[Way, ...],
    BeforeValidator(_ways),
]
"""The alternatives of a remedy, from the mildest to the strongest; a list of actions is one."""
