"""What is known of a launch, and does it fit what a patch asks?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Protocol

from orchestrator.patches import formula
from orchestrator.patches.pointer import TOP, Documents, Place
from orchestrator.patches.versions import versions
from orchestrator.patches.wanted import Settings, count_fits, fits, settings_fit, version_fits
from orchestrator.patches.when import When, members_fit


class OfALaunch(Protocol):
    """What a match or a circumstance asks of a launch as a whole."""

    @property
    def engine(self) -> Settings: ...
    @property
    def arguments(self) -> Settings: ...
    @property
    def compute_cap(self) -> tuple[str, ...]: ...
    @property
    def gpus(self) -> str | None: ...


class Conditional(Protocol):
    """What is done under some circumstances only."""

    @property
    def when(self) -> tuple[When, ...]: ...
    @property
    def unless(self) -> tuple[When, ...]: ...


@dataclass(frozen=True)
class Known:
    """What is known of a launch: None, False or empty where nobody said.

    Of the host: `kind` and `version` of the engine, `compute_cap` of its cards, how many `gpus` there are. Of the command:
    `arguments` (names with underscores). Of the checkpoint: the kind of `attention`, `documents`, which are its config files,
    and the `cache_type` that they alone come to, where the engine's way with them is known. Before a launch alone: `model`,
    what the engine reads out of those files, `host`, what was measured there, and the `variables` of its environment.
    `engine` is the engine's configuration, as printed or, before that, as far as it can be foreseen. `groups` is what a
    pattern read out of the failure. Of the end: `idle_seconds` is how long the log has been silent; `ended`: the processes
    are known to be gone; `served`: the server is known to have come up, so that clients may have written since.
    """

    kind: str | None = None
    version: str | None = None
    compute_cap: str | None = None
    gpus: int | None = None
    arguments: Mapping[str, str] | None = None
    attention: str | None = None
    cache_type: str | None = None
    documents: Documents | None = None
    model: Mapping[str, str] = field(default_factory=dict)
    host: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    engine: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)
    idle_seconds: float | None = None
    ended: bool = False
    served: bool = False

    def over(self, other: Known) -> Known:
        """Both as one: what is known here counts, what is not is the other one's. A log is put over what its reader knew."""
        ours = {each.name: getattr(self, each.name) for each in fields(self)}
        return replace(other, **{name: it for name, it in ours.items() if it != getattr(_NOTHING, name)})

    def version_of(self, kind: str) -> str | None:
        """The version where an engine of that kind runs: what a patch asks of it fits no other one."""
        return self.version if self.kind == kind else None

    def number(self, name: str) -> float | None:
        """A number by its name: of the failure, else of the command line, the engine's configuration, the model, the host."""
        if name == "gpus" and name not in self.groups:
            return self.gpus
        for source in (self.groups, self.arguments or {}, self.engine, self.model, self.host):
            if source.get(name):
                return formula.number(source[name])
        return None

    def fit(self, wanted: OfALaunch) -> bool:
        """Whether all that is asked of a launch as a whole is known to hold."""
        return (
            settings_fit(self.engine, wanted.engine)
            and settings_fit(self.arguments, wanted.arguments)
            and all(version_fits(asked, self.version_of(kind)) for kind, asked in versions(wanted).items())
            and (not wanted.compute_cap or fits(self.compute_cap, wanted.compute_cap))
            and (wanted.gpus is None or count_fits(wanted.gpus, self.gpus))
        )

    def hold(self, when: When, at: Place = TOP) -> bool:
        """Whether all of it is known to hold; `at` is where a config edit is made."""
        return (
            self.fit(when)
            and (not when.attention or fits(self.attention, when.attention))
            and (not when.cache_type or fits(self.cache_type, when.cache_type))
            and settings_fit(self.model, when.model)
            and settings_fit(self.host, when.host)
            and settings_fit(self.variables, when.variables)
            and members_fit(when.config, self.documents, at)
            and (when.holds is None or bool(formula.evaluate(when.holds, self.number)))
        )

    def allow(self, thing: Conditional, at: Place = TOP) -> bool:
        """Whether it may be done: what it asks for holds, nothing that forbids it does."""
        wanted = not thing.when or any(self.hold(when, at) for when in thing.when)
        return wanted and not any(self.hold(when, at) for when in thing.unless)


_NOTHING = Known()
