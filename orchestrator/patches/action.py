"""What may a remedy do, under which circumstances, and at what cost?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from orchestrator.base.consents import Consent
from orchestrator.base.frozen import Frozen
from orchestrator.engines import registry
from orchestrator.engines.command_line import abbreviates, canonical, leaves
from orchestrator.engines.consents import TRUST
from orchestrator.on_host.checkpoint.configs import CONFIGS
from orchestrator.patches.editable import require_editable
from orchestrator.patches.pointer import Pointer, ValueKind
from orchestrator.patches.wanted import checked
from orchestrator.patches.when import Formula, RefusedForm, Whens

_ENGINE = registry.get(registry.USUAL)
"""Whose options and variables a remedy names."""
CLEANUPS = ("shm", "orphan_processes", "gpu_memory_wait", "compile_cache", "stale_lock")
"""What can be cleaned; only what belongs to our launches, or is a cache that fills again."""
TEMPLATE = re.compile(r"\{(\w+)\}")
"""A group of the pattern within a value; other braces are themselves."""
ActionKind = Literal["config", "flag", "env", "cleanup", "redownload", "install"]


def _one_or_more(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else (value,)


_OF_CONFIG = ("file", "within", "path", "expects", "refuse", "of")
_TEXTS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
Pointers = Annotated[tuple[Pointer, ...], BeforeValidator(_one_or_more), WithJsonSchema(_TEXTS)]
Kinds = Annotated[tuple[ValueKind, ...], BeforeValidator(_one_or_more), WithJsonSchema(_TEXTS)]


class Action(Frozen):
    """One action of a remedy. `consent` names the consent without which it is not taken.

    `value` is a text in which {name} is a group of the pattern; `formula` works a number out instead.

    An edit of a config file names the `file` and its members by JSON pointers, `path`, to each of the objects `within` or
    to the file itself; `set` gives the member a `value` of JSON, as it stands here. Of several places the first is the
    common one, which is told where no files are known. What a member holds now is one of the kinds that it `expects`;
    anything else, and each form that it is to `refuse`, leaves everything as it is. `of` stands for the edits of that
    other patch.
    """

    kind: ActionKind
    name: str | None = None
    op: Literal["set", "remove"] | None = None
    value: Any = None
    formula: Formula | None = None
    file: str | None = Field(default=None, json_schema_extra={"enum": list(CONFIGS)})
    within: Pointers = ()
    path: Pointers = ()
    expects: Kinds = ()
    refuse: tuple[RefusedForm, ...] = ()
    of: str | None = None
    when: Whens = ()
    unless: Whens = ()
    consent: Consent | None = None
    _edits: tuple[Action, ...] = PrivateAttr(default=())

    @property
    def edits(self) -> tuple[Action, ...]:
        """What `of` stands for, once the catalogue has looked it up."""
        return self._edits

    def standing_for(self, edits: Iterable[Action]) -> Action:
        """The same, with what `of` stands for."""
        action = self.model_copy()
        action._edits = tuple(edits)
        return action

    @field_validator("value")
    @classmethod
    def _is_text(cls, value: Any, info: ValidationInfo) -> Any:
        if info.data.get("kind") != "config" and value is not None and not isinstance(value, str):
            raise ValueError(
                f"{value!r:.60} is no text; allowed: a text, in quotation marks where it is a number"
            )
        return value

    @model_validator(mode="after")
    def _complete(self, info: ValidationInfo) -> Action:
        if self.kind == "config":
            self._edits_what_it_may(info)
        elif self.name is None:
            raise ValueError(f"{self.kind} needs a name")
        elif strange := self.model_fields_set.intersection(_OF_CONFIG):
            raise ValueError(f"{self.kind} knows no {min(strange)}: it is for kind: config")
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

    def _edits_what_it_may(self, info: ValidationInfo) -> None:
        keys = self.model_fields_set
        if self.of is not None:
            if odd := keys - {"kind", "of", "when", "unless"}:
                raise ValueError(f"config of another patch's takes no {min(odd)}; allowed: when, unless")
            return
        if self.file not in CONFIGS:
            raise ValueError(f"config needs a file; allowed: {', '.join(CONFIGS)}")
        if not self.path or self.op is None:
            raise ValueError("config needs a path and an op; allowed: path: /KEY, op: set or remove")
        if ("value" in keys) != (self.op == "set") or keys & {"name", "formula", "consent"}:
            raise ValueError(
                "config set needs a value, config remove none, and neither a name, formula or consent"
            )
        if not checked(info):
            for base in self.within or ("",):
                for path in self.path:
                    require_editable(base + path, self.value)

    def _touches_what_it_may(self, name: str, op: str) -> None:
        if TEMPLATE.search(name):
            if op == "set":
                raise ValueError(f"{name} is text of a log, which never names what is set; allowed: a name")
            if not TEMPLATE.fullmatch(name):
                raise ValueError(f"{name!r} is more than a group; allowed: a name, or one {{group}}")
            return
        if self.kind == "env":
            _ENGINE.variables.remedied(name, op, self.value)
            return
        bare = _ENGINE.arguments.remedied(name, op, self.value)
        trusting = abbreviates(bare, TRUST) or any(
            canonical(key).lower() == TRUST for keys, _ in leaves(bare, self.value) for key in keys
        )
        if op == "set" and trusting and self.consent != TRUST:
            raise ValueError(f"{name} runs code of the checkpoint; allowed: with consent: {TRUST}")

    def groups(self) -> set[str]:
        """The named groups of a pattern that `name` and `value` use as {group}."""
        texts = (self.name, self.value) if self.kind != "config" else ()
        return {group for text in texts for group in TEMPLATE.findall(text or "")}


class Way(Frozen):
    """One alternative of a remedy: what it does, when it may be taken, what it costs.

    `again` is for a way whose evidence is that the same failure came back after one before it: by itself it is never first.
    `conflicts` names patches whose remedy it would undo or break, each with the reason: while one of them is in
    force, this way is not taken.
    """

    do: Annotated[tuple[Action, ...], Field(min_length=1)]
    when: Whens = ()
    unless: Whens = ()
    again: bool = False
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
