"""What is a patch: how one kind of failure is recognised, where it is certain, and what mends it?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from string import Formatter
from typing import Annotated, Any, Literal

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)

Category = Literal[
    "attention_backend", "kv_cache_memory", "gpu_memory", "nccl", "shm", "download", "checkpoint_corrupt",
    "quantization", "kernel_jit", "driver", "tokenizer_config", "cli_flag", "port", "ray", "parallelism", "moe",
    "transformers_version", "permissions", "other",
]  # fmt: skip
Confidence = Literal["certain", "likely"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ConfigEdit(_Frozen):
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
}
"""The named config edits that a patch may ask for, as what they come to in the common layout."""


def _one_or_more(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_text(item) for item in value)
    return (_text(value),)


def _text(value: Any) -> Any:
    """A YAML boolean as the word that logs print."""
    return str(value) if isinstance(value, bool) else value


def _regular(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"{value!r} is no regular expression ({error})") from error
    return value


def _specifier(value: str) -> str:
    try:
        SpecifierSet(value)
    except InvalidSpecifier as error:
        raise ValueError(
            f"{value!r} is no version specifier; allowed: for instance '>=0.14,<0.18'"
        ) from error
    return value


_WORD: dict[str, Any] = {"type": ["string", "boolean", "number"]}
Words = Annotated[
    tuple[str, ...],
    BeforeValidator(_one_or_more),
    WithJsonSchema({"anyOf": [_WORD, {"type": "array", "items": _WORD}]}),
]
"""One text or a list of them."""
Settings = Mapping[str, Words]
"""Setting -> shell patterns of which its value must fit one; true and false stand for True and False."""


class Match(_Frozen):
    """One way to recognise a failure: all that is given must hold of the root-cause incident.

    `exception` and `process` are shell patterns (an exception by its last name or its full one); `text`
    must all occur in the exception's text; `pattern` is a regular expression found in it, whose named
    groups a remedy's `value` may use as {name}. `reasons` are the attention selector's: the backends whose
    name fits the key (at least one), each with exactly these reasons; `forced` the backend that was forced;
    `fields` the selector's configuration. `frames` are shell patterns of source files, each of which the
    traceback passed through. `engine` is the engine configuration that the log prints, `arguments` what was given
    on the command line; `vllm` and `compute_cap` as in a window. What nobody said does not fit.
    """

    exception: str | None = None
    process: str | None = None
    text: Words = ()
    pattern: Annotated[str, AfterValidator(_regular)] | None = None
    reasons: Mapping[str, Words] = Field(default_factory=dict)
    forced: Words = ()
    fields: Settings = Field(default_factory=dict)
    frames: Words = ()
    engine: Settings = Field(default_factory=dict)
    arguments: Settings = Field(default_factory=dict)
    vllm: Annotated[str, AfterValidator(_specifier)] | None = None
    compute_cap: Words = ()
    confidence: Confidence = "certain"

    @model_validator(mode="after")
    def _says_something(self) -> Match:
        if not (self.text or self.pattern or self.reasons or self.exception):
            raise ValueError(
                "recognises nothing by itself; allowed: at least one of exception, text, pattern, reasons"
            )
        return self


class When(_Frozen):
    """What must hold of the command line for an action to be taken."""

    arguments: Settings


class Action(_Frozen):
    """One action of a remedy, or a named config edit. `consent` names the consent without which it is not taken."""

    kind: Literal["config", "flag", "env", "cleanup", "redownload", "install"]
    edit: str | None = None
    name: str | None = None
    op: Literal["set", "remove"] | None = None
    value: str | None = None
    when: When | None = None
    unless: When | None = None
    consent: str | None = None

    @model_validator(mode="after")
    def _complete(self) -> Action:
        if self.kind == "config":
            if self.edit not in EDITS:
                raise ValueError(f"config needs an edit that is known; allowed: {', '.join(EDITS)}")
        elif self.name is None:
            raise ValueError(f"{self.kind} needs a name")
        if self.kind in ("flag", "env") and self.op is None:
            raise ValueError(f"{self.kind} needs an op; allowed: set, remove")
        return self

    def groups(self) -> set[str]:
        """The named groups of a pattern that `name` and `value` use as {group}."""
        return {
            group
            for text in (self.name, self.value)
            for _, group, _, _ in Formatter().parse(text or "")
            if group is not None
        }


class Window(_Frozen):
    """Where the failure is certain before it was seen. Absent keys hold everywhere; `compute_cap` is a shell pattern."""

    vllm: Annotated[str, AfterValidator(_specifier)] | None = None
    compute_cap: Words = ()
    attention: str | None = None


class Evidence(_Frozen):
    """Where a fact comes from: a release or a URL, when, and what was seen."""

    release: str | None = None
    url: str | None = None
    date: str = ""
    seen: str = ""


class Patch(_Frozen):
    """A patch file. `never` names look-alikes that must not match; `cases` is a folder of labelled logs
    beside the file."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    title: str
    category: Category
    explanation: str = ""
    match: Annotated[tuple[Match, ...], Field(min_length=1)]
    window: Window | None = None
    remedy: tuple[Action, ...] = ()
    advice: Words = ()
    cost: str = ""
    never: Words = ()
    evidence: tuple[Evidence, ...] = ()
    cases: str | None = None

    @model_validator(mode="after")
    def _names_groups(self) -> Patch:
        """A value that needs a group of the pattern must find it in every way to recognise the failure."""
        needed = {name for action in self.remedy for name in action.groups()}
        for match in self.match:
            given = set(re.compile(match.pattern).groupindex) if match.pattern else set()
            if needed - given:
                raise ValueError(
                    f"a remedy needs {{{min(needed - given)}}}, which not every match's pattern names"
                )
        return self

    def predicts(self, vllm_version: str | None, compute_cap: str | None, attention: str | None) -> bool:
        """Whether the failure is certain with this vLLM ("0.16.0"), card ("12.0") and kind of attention
        ("mla", ...). What is unknown (None, or no version number) predicts nothing."""
        window = self.window
        if window is None:
            return False
        return (
            (window.vllm is None or version_fits(window.vllm, vllm_version))
            and (not window.compute_cap or fits(compute_cap, window.compute_cap))
            and (window.attention is None or window.attention == attention)
        )


def fits(value: str | None, patterns: tuple[str, ...]) -> bool:
    """Whether `value` is known and fits one of the shell patterns."""
    return value is not None and any(fnmatchcase(value, pattern) for pattern in patterns)


def settings_fit(values: Mapping[str, str] | None, wanted: Settings) -> bool:
    """Whether every wanted setting is known and fits."""
    return all(fits((values or {}).get(name), patterns) for name, patterns in wanted.items())


def version_fits(specifier: str, version: str | None) -> bool:
    """Whether `version` is known and inside; a release candidate counts as its release."""
    try:
        return version is not None and SpecifierSet(specifier).contains(
            Version(version).base_version, prereleases=True
        )
    except InvalidVersion:
        return False
