"""How is a command line of long options read and written, as Python's argparse takes it?

Every engine so far has such a parser: `_` is `-`, abbreviations count, a value may be JSON, a key of it follows a dot.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from orchestrator.engines.options import OptionValue

NAME = re.compile(r"[a-z][a-z0-9-]*(\.[A-Za-z0-9_.-]+)?")
"""A long option without its dashes; what follows a dot is a key inside a JSON option (kernel-config.x)."""


def canonical(name: str) -> str:
    """The name as the parser sees it: `_` and `-` are the same before the first dot."""
    head, dot, tail = name.partition(".")
    return head.replace("_", "-") + dot + tail


def options(argv: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Every long option of a command line by its canonical name, in order, with its value (None: a bare option)."""
    for word, following in zip(argv, (*argv[1:], "--"), strict=False):
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            yield canonical(name), value if equals else None if following.startswith("--") else following


def leaves(name: str, value: str | None) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each single value of an option with the keys that lead to it: the parser takes JSON, and keys after a dot."""
    try:
        whole = json.loads(value or "")
    except (ValueError, RecursionError):
        whole = value or ""
    yield from _inner(tuple(name.split(".")[1:]), whole)


def _inner(keys: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _inner((*keys, key), inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _inner(keys, inner)
    else:
        yield keys, value


def abbreviates(name: str, option: str) -> bool:
    """Whether a parser that takes abbreviations could read `name` as this option."""
    return option.startswith(canonical(name))


def checked_value(value: Any) -> OptionValue:
    """The value of an argument that a playbook may hold; ValueError says what is allowed."""
    if value is False:
        raise ValueError("false is not a value; leave the argument out, or write no-NAME: true")
    if isinstance(value, str) and re.search(r"[\0\r\n]", value):
        raise ValueError("a value is one line without NUL characters")
    if not isinstance(value, bool | int | float | str | list | dict):
        raise ValueError(
            "is empty; allowed: true (a bare option), a number, text, a list or a mapping (JSON)"
        )
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        raise ValueError("infinity and NaN are no numbers of JSON") from None
    return value


def rendered(name: str, value: OptionValue) -> tuple[str, ...]:
    """The items of a command line for one argument: a bare option, or the option and its value."""
    option = f"--{canonical(name)}"
    if value is True:
        return (option,)
    text = text_of(value)
    # as an item of its own, a value that begins with a dash would be read as another option
    return (f"{option}={text}",) if text.startswith("-") else (option, text)


def text_of(value: OptionValue) -> str:
    """A value as the text that the engine reads."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def arguments_of(argv: tuple[str, ...]) -> Mapping[str, str]:
    """The options of a command line, by name with underscores; a switch has the value "True"."""
    options: dict[str, str] = {}
    for word, following in zip(argv, (*argv[1:], "--"), strict=False):
        if not word.startswith("--"):
            continue
        name, equals, value = word[2:].partition("=")
        options[name.replace("-", "_")] = (
            value if equals else "True" if following.startswith("--") else following
        )
    return MappingProxyType(options)
