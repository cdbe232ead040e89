"""What is known of a launch when a remedy is looked for?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from orchestrator.patches import formula
from orchestrator.patches.pointer import TOP, Documents, Place
from orchestrator.patches.wanted import fits, launch_fits
from orchestrator.patches.when import When, members_fit


class Conditional(Protocol):
    """What is done under some circumstances only."""

    @property
    def when(self) -> tuple[When, ...]: ...
    @property
    def unless(self) -> tuple[When, ...]: ...


@dataclass(frozen=True)
class Circumstances:
    """What is known of a launch besides its failure: None where nobody said.

    `engine` is the configuration that the engine printed, `arguments` its command line (names with underscores),
    `groups` what a pattern read out of the failure, `documents` the checkpoint's config files.
    """

    vllm_version: str | None = None
    compute_cap: str | None = None
    gpus: int | None = None
    engine: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, str] | None = None
    groups: Mapping[str, str] = field(default_factory=dict)
    attention: str | None = None
    documents: Documents | None = None

    def of_engine(self, kind: str, version: str | None) -> Circumstances:
        """The same, of an engine of that kind: what a patch asks of vLLM's version fits no other one."""
        return replace(self, vllm_version=version if kind == "vllm" else None)

    def number(self, name: str) -> float | None:
        """A number by its name: of the failure, else of the command line, else of the engine's configuration."""
        if name == "gpus" and name not in self.groups:
            return self.gpus
        for source in (self.groups, self.arguments or {}, self.engine):
            if source.get(name):
                return formula.number(source[name])
        return None

    def hold(self, when: When, at: Place = TOP) -> bool:
        """Whether all of it is known to hold; `at` is where a config edit is made."""
        return (
            launch_fits(when, self)
            and (not when.attention or fits(self.attention, when.attention))
            and members_fit(when.config, self.documents, at)
            and (when.holds is None or bool(formula.evaluate(when.holds, self.number)))
        )

    def allow(self, thing: Conditional, at: Place = TOP) -> bool:
        """Whether it may be done: what it asks for holds, nothing that forbids it does."""
        wanted = not thing.when or any(self.hold(when, at) for when in thing.when)
        return wanted and not any(self.hold(when, at) for when in thing.unless)
