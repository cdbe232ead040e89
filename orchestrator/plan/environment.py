"""Which variables does the engine start with, and why each?"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import SecretStr

from orchestrator.engines.vllm.adjustments import NO_ADJUSTMENTS, Adjustments
from orchestrator.on_host import hub_token
from orchestrator.on_host.secrets import holds_secret, is_secret, redact
from orchestrator.playbook.playbook import Playbook


@dataclass(frozen=True)
class Variable:
    """A variable of the engine's environment; a secret value shows itself as stars, a URL without its credentials."""

    name: str
    value: str | SecretStr
    reason: str

    @property
    def shown(self) -> str:
        """What may be printed, logged and written to a file."""
        if isinstance(self.value, SecretStr) and not is_secret(self.name) and "@" in self.sent:
            return redact(f"{self.name}={self.sent}").partition("=")[2]
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
            kept = SecretStr(value) if holds_secret(f"{name}={value}") or is_secret(name) else value
            variables[name] = Variable(name, kept, "set by a remedy")
    return tuple(variables.values())


def without_token(
    environment: tuple[Variable, ...], host_endpoint: str | None
) -> tuple[tuple[Variable, ...], tuple[str, ...]]:
    """The environment without the Hub's token where it leads elsewhere than to the Hub, and the names that were in it.

    `host_endpoint` is the HF_ENDPOINT that the host itself sets. The host judges again by what it really has
    (`on_host/launch.py`).
    """
    sent = {"HF_ENDPOINT": host_endpoint or "", **{one.name: one.sent for one in environment}}
    names, instead = hub_token.withheld(sent, consent=False)
    kept = tuple(one for one in environment if one.name not in (*names, *instead))
    reason = "no token goes to another place than the Hub without the consent token-to-endpoint"
    return (*kept, *(Variable(name, value, reason) for name, value in instead.items())), tuple(names)


def removed_variables(playbook: Playbook, adjustments: Adjustments = NO_ADJUSTMENTS) -> tuple[str, ...]:
    """Names that must not reach the engine even where the host's own environment sets them."""
    kept = {variable.name for variable in engine_environment(playbook, adjustments)}
    return tuple(
        name for name, value in adjustments.environment.items() if value is None and name not in kept
    )
