"""How does the argument parser of a release read an option's name?"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from packaging.version import Version

from orchestrator.engines.vllm.releases import Releases, table, within

SWITCHES = ("switch", "boolean")
_OPPOSITE = {"enable-": "disable-", "disable-": "enable-"}


@dataclass(frozen=True)
class Spelling:
    """An option of a release as a name means it; `negated`: with --no-, or by its opposite."""

    option: str
    takes: str
    negated: bool = False


def releases() -> Releases:
    return _releases()


@functools.cache
def _releases() -> Releases:
    return Releases.of(table("options.json")["sampled"])


def entry(name: str) -> Mapping[str, Any] | None:
    """What the table says of an option, in any release."""
    options: dict[str, dict[str, Any]] = table("options.json")["options"]
    return options.get(name)


def names(release: Version) -> Iterable[str]:
    """The options of a release, by their positive names."""
    options: dict[str, dict[str, Any]] = table("options.json")["options"]
    return (name for name, known in options.items() if within(known["in"], release) and "." not in name)


def spelling(name: str, release: Version) -> Spelling | None:
    """How a release reads a name (without dashes, up to a dot); None where its parser does not know it.

    An abbreviation that only one option of the release begins with is read as that option.
    """
    exact = _exact(name, release)
    if exact is not None:
        return exact
    meant = {option for option in names(release) if option.startswith(name)}
    return _exact(meant.pop(), release) if len(meant) == 1 else None


def _exact(name: str, release: Version) -> Spelling | None:
    kind = takes(name, release)
    if kind is not None:
        return Spelling(name, kind)
    positive = name.removeprefix("no-")
    if positive != name and takes(positive, release) == "boolean":
        return Spelling(positive, "boolean", negated=True)
    if release < Version(table("options.json")["paired_since"]):
        return None
    other = opposite(positive)
    if other is not None and takes(other, release) == "boolean":
        return Spelling(other, "boolean", negated=positive == name)
    return None


def takes(name: str, release: Version) -> str | None:
    """What follows an option in a release; None where it has no such option."""
    known = entry(name)
    if known is None or not within(known["in"], release):
        return None
    kinds: str | dict[str, str] = known["takes"]
    if isinstance(kinds, str):
        return kinds
    return [kind for since, kind in kinds.items() if Version(since) <= release][-1]


def opposite(name: str) -> str | None:
    """disable-X for enable-X and the other way round."""
    return next(
        (other + name[len(prefix) :] for prefix, other in _OPPOSITE.items() if name.startswith(prefix)), None
    )
