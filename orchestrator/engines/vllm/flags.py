"""Which options and variables does this version of the engine refuse or ignore, and what to do about each?"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from typing import Any

from packaging.version import Version


@dataclass(frozen=True)
class FlagWarning:
    """An option, option value or variable that this version does not take."""

    flag: str
    """`--swap-space`, `--kv-cache-dtype float16` or `VLLM_USE_V1`."""
    version: str
    accepted: str
    """The releases that take it: "0.10.0 to 0.17.1"."""
    advice: str

    @property
    def sentence(self) -> str:
        instead = f": {self.advice}" if self.advice else ""
        return f"vLLM {self.version} does not take {self.flag} (accepted by {self.accepted}){instead}"


def check_flags(options: Iterable[tuple[str, str | None]], version: str) -> tuple[FlagWarning, ...]:
    """Options that this version refuses; vLLM then ends with exit status 2 and its usage.

    `options` are canonical names with the text of their value (None: a bare option). A version between two releases that disagree, or that is no version at all, is not judged.
    """
    known = _known()
    warnings = []
    for name, value in options:
        option = f"--{name.partition('.')[0]}"  # what follows a dot is a key of its value
        entry = _entry(known, option)
        if entry:
            warnings += _judged(option, entry, version)
        choice = known["values"].get(option, {}).get(value)
        if choice:
            warnings += _judged(f"{option} {value}", choice, version)
    return tuple(warnings)


def check_variables(names: Iterable[str], version: str) -> tuple[FlagWarning, ...]:
    """Variables that this version no longer reads, or does not read yet; they change nothing in it."""
    entries = _known()["variables"]
    return tuple(
        warning for name in names if name in entries for warning in _judged(name, entries[name], version)
    )


def takes(option: str, value: str, version: str) -> bool | None:
    """Whether a version takes this value of an option; None where that is not known."""
    choice = _known()["values"].get(option, {}).get(value)
    return None if choice is None else _takes(choice["accepted"], version)


def releases() -> tuple[str, ...]:
    """Those whose options are known, oldest first."""
    return tuple(_known()["sampled"])


def _entry(known: dict[str, Any], option: str) -> dict[str, str] | None:
    plain = option.replace("--no-", "--", 1)
    entry: dict[str, str] | None = known["options"].get(option) or known["options"].get(plain)
    if entry is None and option in known["disable_spelling"]["options"]:
        entry = known["disable_spelling"]
    return entry


def _judged(flag: str, entry: dict[str, str], version: str) -> list[FlagWarning]:
    if _takes(entry["accepted"], version) is not False:
        return []
    spoken = entry["accepted"].replace("..", " to ").replace("; ", " and ")
    return [FlagWarning(flag, version, spoken, entry.get("instead", ""))]


def _takes(accepted: str, version: str) -> bool | None:
    """Whether a version takes what these ranges accept; None where no release that was read tells."""
    try:
        release = Version(Version(version).base_version)
    except ValueError:
        return None
    sampled = [Version(text) for text in _known()["sampled"]]
    before = [each for each in sampled if each <= release]
    after = [each for each in sampled if each >= release]
    if not before:
        return None
    answers = {_within(accepted, before[-1])} | ({_within(accepted, after[0])} if after else set())
    return answers.pop() if len(answers) == 1 else None


def _within(accepted: str, release: Version) -> bool:
    ranges = (part.strip().split("..") for part in accepted.split(";"))
    return any(Version(first) <= release <= Version(last) for first, last in ranges)


@functools.cache
def _known() -> dict[str, Any]:
    text = resources.files("orchestrator.engines.vllm").joinpath("flags.json").read_text()
    known: dict[str, Any] = json.loads(text)
    return known
