"""What do applied remedies change about the next launch's command and environment?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict

from orchestrator.engines.vllm.arguments import canonical

Value = str | Literal[True] | None


def _as_rendered(flags: Mapping[str, Value]) -> dict[str, Value]:
    """By canonical name, a switch as one: vLLM takes the word after `--enforce-eager true` for the model."""
    names = {canonical(name.removeprefix("--")): value for name, value in flags.items()}
    return {name: True if value == "true" and "." not in name else value for name, value in names.items()}


Flags = Annotated[dict[str, Value], AfterValidator(_as_rendered)]


class Adjustments(BaseModel):
    """Options and variables that remedies set or take away; they win over the playbook.

    A value of None takes the option or variable away, True is a bare option. Options are named with or
    without their dashes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    flags: Flags = {}
    environment: dict[str, str | None] = {}

    def then(
        self, flags: Mapping[str, str | Literal[True] | None], environment: Mapping[str, str | None]
    ) -> Adjustments:
        """These and later ones; the later win."""
        later = Adjustments(flags=dict(flags))
        return Adjustments(
            flags={**self.flags, **later.flags}, environment={**self.environment, **environment}
        )


NO_ADJUSTMENTS = Adjustments()
