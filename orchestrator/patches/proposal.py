"""What does a remedy propose for one failure?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from orchestrator.base.frozen import Frozen
from orchestrator.patches.wanted import Confidence


class ProposedAction(Frozen):
    """One action; a key that its kind does not have is absent in JSON, `value: null` is a value."""

    kind: Literal["config", "flag", "env", "cleanup", "redownload", "install"]
    name: str | None = None
    file: str | None = None
    path: str | None = None
    op: Literal["set", "remove"] | None = None
    value: Any = None

    @model_serializer(mode="wrap")
    def _only_what_is_set(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {key: value for key, value in whole(self).items() if key in self.model_fields_set}


class ProposedWay(Frozen):
    """One alternative of a remedy. `consents` are those without which it is not taken, `conflicts` the patches
    beside which it is not taken, each with the reason."""

    actions: tuple[ProposedAction, ...]
    cost: str = ""
    consents: tuple[str, ...] = ()
    conflicts: Mapping[str, str] = Field(default_factory=dict)
    number: int | None = Field(default=None, exclude=True)
    """Which of the patch's ways it is."""

    @property
    def automatic(self) -> bool:
        """Whether it may be taken without asking anybody."""
        return not self.consents and all(action.kind != "install" for action in self.actions)

    @property
    def looks_first(self) -> bool:
        """Whether all of it changes only what is found wrong on the host: what a dead launch left, files that do not verify."""
        return all(action.kind in ("cleanup", "redownload") for action in self.actions)

    def unasked(self, confidence: Confidence) -> bool:
        """Whether it is taken without asking anybody for a finding of this confidence: on a guess nothing is set."""
        return self.automatic and (confidence == "certain" or self.looks_first)
