"""By which of the releases that were read is a version judged, and does a range of releases hold one?"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from packaging.version import Version


@dataclass(frozen=True)
class Releases:
    """Releases that were read, in their order."""

    read: tuple[Version, ...]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Releases:
        return cls(tuple(Version(text) for text in texts))

    @property
    def newest(self) -> Version:
        return self.read[-1]

    def beside(self, version: str | None) -> tuple[Version, ...]:
        """The release itself where it was read, else those before and after it: what both say holds for it too.

        A newer version is judged by the newest one; nothing tells about an older one, or about what is no version.
        """
        try:
            release = Version(Version(version or "").base_version)
        except ValueError:
            return ()
        before = [each for each in self.read if each <= release]
        after = [each for each in self.read if each >= release]
        return tuple(dict.fromkeys((*before[-1:], *after[:1]))) if before else ()

    def knows(self, version: str | None) -> bool:
        """Whether a version is none of those before or after everything that was read."""
        beside = self.beside(version)
        return bool(beside) and Version(Version(version or "").base_version) <= self.newest

    def after(self, ranges: str) -> Version | None:
        """The first release that was read after the last one of the ranges; None where they reach to the newest."""
        last = Version(ranges.rpartition("..")[2])
        return next((each for each in self.read if each > last), None)


@functools.cache
def within(ranges: str, release: Version) -> bool:
    """Whether "FIRST..LAST; FIRST..LAST" holds a release; both ends belong to a range."""
    parts = (part.strip().split("..") for part in ranges.split(";"))
    return any(Version(first) <= release <= Version(last) for first, last in parts)


def first(ranges: str) -> str:
    return ranges.partition("..")[0]


def spoken(ranges: str, newest: str) -> str:
    """ "0.10.0 to 0.16.0 and 0.33.0"; a range up to the `newest` release that is known is open: "0.14.0 and newer"."""
    parts = (part.strip().split("..") for part in ranges.split(";"))
    return " and ".join(_range(start, end, newest) for start, end in parts)


def _range(start: str, end: str, newest: str) -> str:
    if end == newest:
        return f"{start} and newer" if start != end else start
    return start if start == end else f"{start} to {end}"


@functools.cache
def table(name: str) -> dict[str, Any]:
    """One of the files of this folder that say what is so in which release."""
    text = resources.files("orchestrator.engines.vllm").joinpath(name).read_text()
    known: dict[str, Any] = json.loads(text)
    return known
