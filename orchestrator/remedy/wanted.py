"""How does a patch file say which value it wants, and does a value fit?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, WithJsonSchema

Confidence = Literal["certain", "likely"]


class Frozen(BaseModel):
    """A part of a patch file: unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _one_or_more(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_text(item) for item in value)
    return (_text(value),)


def _text(value: Any) -> Any:
    """A YAML boolean or number as the word that logs print."""
    return str(value) if isinstance(value, (bool, int, float)) else value


def _regular(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"{value!r} is no regular expression ({error})") from error
    return value


def _of_a_line(value: str) -> str:
    """A regular expression that can be looked for in whole blocks of lines: its anchors are its ends."""
    inner = _regular(value).removeprefix("^").removesuffix("$")
    if re.search(r"(?<![\\\[])(?:\^|\$)|\\[AZ1-9]|\(\?P=", inner.replace(r"\\", "")):
        raise ValueError(f"{value!r} has an anchor or a back reference inside; allowed: ^ first and $ last")
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
Pattern = Annotated[str, AfterValidator(_regular)]
LinePattern = Annotated[str, AfterValidator(_of_a_line)]
LinePatterns = Annotated[
    tuple[LinePattern, ...],
    BeforeValidator(_one_or_more),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
Specifier = Annotated[str, AfterValidator(_specifier)]


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


def count_fits(specifier: str, count: int | None) -> bool:
    """Whether a count is known and inside, say ">1"."""
    return count is not None and version_fits(specifier, str(count))
