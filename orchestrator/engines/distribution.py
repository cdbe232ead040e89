"""How is a server installed that comes as a Python distribution?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from orchestrator.facts.source import Package


@dataclass(frozen=True)
class Distribution:
    """How it is installed: the Pythons that will do; by package (`left_out`) which of those that it names are not installed
    with it, (`pages`) which pages link to wheels that no index has, how many bytes it will likely take of the disk,
    (`without_gpus`) which package has the same release for a host without GPUs, and (`also`) by which other name, with which label
    behind its version, programs of its own ask for it. `releases` are those that are known, oldest
    first: read where one is offered.
    """

    pythons: str = ">=3.10"
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    likely_bytes: Mapping[str, int] = field(default_factory=dict)
    without_gpus: Mapping[str, str] = field(default_factory=dict)
    also: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    releases: Callable[[], tuple[str, ...]] = tuple


class Installable(Protocol):
    """What is installed in an environment of its own."""

    @property
    def package(self) -> Package: ...

    @property
    def distribution(self) -> Distribution: ...
