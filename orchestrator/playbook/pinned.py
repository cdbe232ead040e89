"""Which engine of our own does a playbook ask for, and where is it on a host?"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from orchestrator.engines.distribution import Installable
from orchestrator.engines.protocol import Engine
from orchestrator.on_host.environments.place import ENGINES, INTERPRETER

INDEX = r"https?://[^\s@]+"
"""The address of a package index (PEP 503); credentials belong into ~/.netrc on the host."""


@dataclass(frozen=True)
class PinnedEngine:
    """One release of one distribution, as in NAME==VERSION."""

    name: str
    version: str

    @classmethod
    def of(cls, text: str) -> PinnedEngine:
        """As a playbook says it; raises ValueError with what is allowed."""
        name, _, version = text.partition("==")
        try:
            if re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
                return cls(name, str(Version(version)))
        except InvalidVersion:
            pass
        raise ValueError("allowed: one release of one distribution, NAME==VERSION")

    def __str__(self) -> str:
        return f"{self.name}=={self.version}"

    @property
    def folder(self) -> str:
        """All that there is of it on a host; `~` is the home folder there."""
        return f"{ENGINES}/{self.name}-{self.version}"

    @property
    def python(self) -> str:
        """The interpreter, which is there as soon as the engine counts, and not before."""
        return f"{self.folder}/environment/{INTERPRETER}"

    @property
    def on_cpu(self) -> bool:
        return self.name.endswith("-cpu") or "cpu" in self.version.partition("+")[2]

    def without_gpus(self, kind: Installable) -> PinnedEngine:
        """The same release as a host without GPUs takes it, where there is a package for such hosts."""
        return PinnedEngine(kind.distribution.without_gpus.get(self.name, self.name), self.version)

    def fits(self, version: str) -> bool:
        """Whether this version is the pinned one; where no build is named any will do."""
        try:
            there, wanted = Version(version), Version(self.version)
        except InvalidVersion:
            return False
        return there == wanted or (wanted.local is None and Version(there.public) == wanted)


def offered(
    kind: Engine, accepts: Callable[[str], bool] = lambda _: True, *, on_cpu: bool = False
) -> PinnedEngine | None:
    """What may be installed where there is no engine that will do: the newest release that is known and accepted."""
    name = kind.package.distributions[0]
    if on_cpu:
        name = kind.distribution.without_gpus.get(name, name)
    newest = next((version for version in reversed(kind.distribution.releases()) if accepts(version)), None)
    return PinnedEngine(name, newest) if newest else None
