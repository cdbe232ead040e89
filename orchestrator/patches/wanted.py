"""How does a patch file say which value it wants, and does a value fit?"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Annotated, Any, Literal

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version
from pydantic import AfterValidator, BeforeValidator, ValidationInfo, WithJsonSchema

from orchestrator.patches.ends import suggested
from orchestrator.patches.literals import SEEN, SHORTEST_WORD, words_of
from orchestrator.patches.steps import most_steps

Confidence = Literal["certain", "likely"]
MOST_STEPS = 20_000_000
"""Of a pattern that is judged on the texts of a failure: some 30 ms where somebody wrote the worst of them."""
MOST_STEPS_OF_A_LINE = 5_000_000
"""Of one that is looked for in every line of a log."""
_LONGEST_PATTERN = 10_000


def _one_or_more(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_text(item) for item in value)
    return (_text(value),)


def _text(value: Any) -> Any:
    """A YAML boolean or number as the word that logs print."""
    return str(value) if isinstance(value, (bool, int, float)) else value


def checked(info: ValidationInfo) -> bool:
    """Whether this very content was found right before, so that what takes long need not be checked again."""
    return bool(info.context and info.context.get("checked"))


def _regular(value: str, info: ValidationInfo) -> str:
    return value if checked(info) else _bounded(value, MOST_STEPS)


def _bounded(value: str, most: int) -> str:
    """The regular expression, where none that reads a log can be kept busy by what somebody writes into it."""
    if len(value) > _LONGEST_PATTERN:
        raise ValueError(f"has {len(value)} letters; allowed: {_LONGEST_PATTERN}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            steps = most_steps(value, SEEN)
    except (re.error, OverflowError, RecursionError, Warning) as error:
        raise ValueError(f"{value!r:.200} is no regular expression ({error})") from error
    if steps > most:
        raise ValueError(
            f"{value!r:.200} can take {_counted(steps)} steps on a text of {SEEN} letters, of which {most:,} are allowed; "
            f"allowed: {_allowed_instead(value, most)}"
        )
    return value


def _allowed_instead(value: str, most: int) -> str:
    def fits(other: str) -> bool:
        try:
            return most_steps(other, SEEN) <= most
        except (re.error, OverflowError, RecursionError):
            return False

    other = suggested(value, fits)
    if other is not None:
        return f"repetitions with an end, such as {other}"
    return (
        "repetitions with an end (`.{0,200}` for `.*`, `\\w{1,80}` for `\\w+`), none inside another one, "
        "none beside one that takes the same letters, a word of letters first"
    )


def _counted(steps: float) -> str:
    return f"{steps:,.0f}" if steps < 1e15 else "countless"


def _of_a_line(value: str, info: ValidationInfo) -> str:
    """A regular expression that can be looked for in whole blocks of lines: its anchors are its ends, and every line
    that fits holds a word of it."""
    if checked(info):
        return value
    inner = _bounded(value, MOST_STEPS_OF_A_LINE).removeprefix("^").removesuffix("$")
    if re.search(r"(?<![\\\[])(?:\^|\$)|\\[AZ1-9]|\(\?P=", inner.replace(r"\\", "")):
        raise ValueError(f"{value!r} has an anchor or a back reference inside; allowed: ^ first and $ last")
    if min(map(len, words_of(value)), default=0) < SHORTEST_WORD:
        raise ValueError(
            f"{value!r} fits lines without any word of it; allowed: with {SHORTEST_WORD} letters on end"
        )
    return value


def _specifier(value: str, info: ValidationInfo) -> str:
    if checked(info):
        return value
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


@lru_cache(maxsize=4096)  # a plan asks the same few hundred times each, and to read a specifier takes longest
def version_fits(specifier: str, version: str | None) -> bool:
    """Whether `version` is known and inside; a release candidate counts as its release."""
    try:
        return version is not None and SpecifierSet(specifier).contains(
            Version(version).base_version, prereleases=True
        )
    except ValueError:  # no version, or one of more digits than a number may have
        return False


def count_fits(specifier: str, count: int | None) -> bool:
    """Whether a count is known and inside, say ">1"."""
    return count is not None and version_fits(specifier, str(count))
