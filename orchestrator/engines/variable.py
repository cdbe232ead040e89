"""What is one variable of the engine's environment, who set it, and what of it may be shown?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import SecretStr

from orchestrator.on_host.secrets.secrets import holds_secret, is_secret, redact

Origin = Literal["default", "playbook", "option", "remedy", "topology", "chosen"]
"""Who set something: nobody, the playbook's file, an option of this command, a patch in force or about to be, or we, by how the
host's GPUs, or the hosts, are connected or by what suits the model and this kind of card."""


@dataclass(frozen=True)
class Variable:
    """A variable of the engine's environment; a secret value shows itself as stars, a URL without its credentials."""

    name: str
    value: str | SecretStr
    reason: str
    origin: Origin

    @classmethod
    def of_a_remedy(cls, name: str, value: str) -> Variable:
        """One whose value is kept secret where its name or what it holds asks for that."""
        secret = is_secret(name) or holds_secret(f"{name}={value}")
        return cls(name, SecretStr(value) if secret else value, "set by a remedy", "remedy")

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

    def as_json(self) -> dict[str, str]:
        """What may be told of it."""
        return {"name": self.name, "value": self.shown, "reason": self.reason, "origin": self.origin}
