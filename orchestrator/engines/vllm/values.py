"""Would the argument parser of a release take an option's value?"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from packaging.version import Version

from orchestrator.engines.command_line import text_of
from orchestrator.engines.options import OptionValue
from orchestrator.engines.vllm.option_table import SWITCHES, Spelling, entry, releases, spelling
from orchestrator.engines.vllm.releases import within

_INTEGER = re.compile(r"\s*[+-]?\d+(?:_\d+)*\s*")
_SIZE = re.compile(r"\s*(?:[+-]?\d+(?:_\d+)*|\d+[kKmMgGtT]|\d+\.\d+[kmgt])\s*")
_HUMAN = re.compile(r"\b\d+(?:\.\d+)?[kKmMgGtT]\b")
"""Newer releases take 128k inside JSON too."""


def wrong(spelling: Spelling, value: OptionValue, release: Version) -> str | None:
    """What this option takes, where it does not take the value: "takes a whole number"."""
    if spelling.takes in SWITCHES:
        return None if value is True else "takes no value"
    if value is True:
        return None if spelling.takes == "any" else "takes a value"
    text = text_of(value)
    kind, optional = spelling.takes.removesuffix("?"), spelling.takes.endswith("?")
    listed = choices(spelling.option, release)
    if listed and not _among(text, listed, spelling.takes):
        return "takes one of its own words"
    if (optional and text in ("", "None")) or _fits(kind, text):
        return None
    return f"takes {_WORDS[kind]}"


def taken(name: str, value: OptionValue, version: str) -> bool:
    """Whether a version certainly takes a value of an option."""
    beside = releases().beside(version)
    read = [(spelling(name, release), release) for release in beside]
    return bool(read) and all(each and wrong(each, value, release) is None for each, release in read)


_WORDS = {
    "integer": "a whole number",
    "integers": "whole numbers, of which only one can be given here",
    "number": "a number",
    "size": "a whole number, or one such as 128k",
    "size or auto": "a whole number, one such as 128k, or auto",
    "json": "JSON",
}


def choices(option: str, release: Version) -> tuple[str, ...]:
    """The values that a release lists for an option; none where it lists none."""
    known = entry(option)
    if known is None or not within(known.get("listed", known["in"]), release):
        return ()
    return tuple(value for value, ranges in choice_ranges(option).items() if within(ranges, release))


def choice_ranges(option: str) -> dict[str, str]:
    """The releases of each value that any release lists for an option."""
    known = entry(option) or {}
    values: Mapping[str, str] = known.get("choices", {})
    return {value: ranges or known.get("listed", known["in"]) for value, ranges in values.items()}


def _among(text: str, listed: tuple[str, ...], takes: str) -> bool:
    if takes == "word":
        return _plain(text) in map(_plain, listed)
    return text in listed


def _plain(word: str) -> str:
    return word.lower().replace("-", "_")


def _fits(kind: str, text: str) -> bool:
    if kind in ("integer", "integers"):
        return _INTEGER.fullmatch(text) is not None
    if kind == "number":
        return _reads(float, text)
    if kind.startswith("size"):
        return _SIZE.fullmatch(text) is not None or (kind != "size" and text.lower() == "auto")
    return kind != "json" or _reads(json.loads, text) or _reads(json.loads, _HUMAN.sub("0", text))


def _reads(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except (ValueError, RecursionError):
        return False
    return True
