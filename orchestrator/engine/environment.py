"""Which variables does the engine start with, and why each?"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import SecretStr

from orchestrator.engine.adjustments import NO_ADJUSTMENTS, Adjustments
from orchestrator.playbook import Playbook
from orchestrator.secret_names import is_secret


@dataclass(frozen=True)
class Variable:
    """A variable of the engine's environment; a secret value shows itself as stars."""

    name: str
    value: str | SecretStr
    reason: str

    @property
    def shown(self) -> str:
        """What may be printed, logged and written to a file."""
        return str(self.value)

    @property
    def sent(self) -> str:
        """What the engine gets; only for a channel that no other user and no file sees."""
        return self.value.get_secret_value() if isinstance(self.value, SecretStr) else self.value

    @property
    def secret(self) -> bool:
        return isinstance(self.value, SecretStr)


def engine_environment(playbook: Playbook, adjustments: Adjustments = NO_ADJUSTMENTS) -> tuple[Variable, ...]:
    """What is set on top of the host's own environment, in the playbook's order; a remedy's word is last."""
    variables = {name: Variable(name, item.value, item.reason) for name, item in playbook.environment.items()}
    for name, value in adjustments.environment.items():
        if value is None:
            variables.pop(name, None)
        else:
            kept = SecretStr(value) if is_secret(name) else value
            variables[name] = Variable(name, kept, "set by a remedy")
    return tuple(variables.values())


def removed_variables(playbook: Playbook, adjustments: Adjustments = NO_ADJUSTMENTS) -> tuple[str, ...]:
    """Names that must not reach the engine even where the host's own environment sets them."""
    kept = {variable.name for variable in engine_environment(playbook, adjustments)}
    return tuple(
        name for name, value in adjustments.environment.items() if value is None and name not in kept
    )
