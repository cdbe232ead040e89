"""What does the person ask for beside the playbook, and for which goal is planned?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from orchestrator.patches.patch import Patch
from orchestrator.survey.survey import Survey

Goal = Literal["up", "remediate", "restart", "patch", "fetch"]
"""What is planned for: only `up` and `fetch` download, only `restart` stops what serves, `patch` starts nothing, `fetch`
ends with the checkpoint."""


@dataclass(frozen=True)
class Wishes:
    """What the person asked for beside the playbook.

    `forced` and `forbidden` are patch ids; `predict` False applies nothing before a failure was seen;
    `engine_version` is taken instead of what the host says. `yes` gives every consent that the playbook and the options
    ask for, none that only a remedy needs. `other_folder` tells that an option named the checkpoint's folder. `inherited` are
    the forced ones that nobody typed: they healed another replica.
    """

    patches: tuple[Patch, ...] = ()
    forced: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    predict: bool = True
    consents: tuple[str, ...] = ()
    engine_version: str | None = None
    yes: bool = False
    other_folder: bool = False
    inherited: tuple[str, ...] = ()

    @property
    def allowed(self) -> tuple[Patch, ...]:
        return tuple(patch for patch in self.patches if patch.id not in self.forbidden)

    def version(self, survey: Survey) -> str | None:
        """The engine's: the one that is wished for, else the host's."""
        return self.engine_version or (survey.engine.version if survey.engine else None)
