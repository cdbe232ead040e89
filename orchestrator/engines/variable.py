"""What is one variable of the engine's environment, and what of it may be shown?"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import SecretStr

from orchestrator.on_host.secrets.secrets import holds_secret, is_secret, redact


@dataclass(frozen=True)
class Variable:
    """A variable of the engine's environment; a secret value shows itself as stars, a URL without its credentials."""

    name: str
    value: str | SecretStr
    reason: str

    @classmethod
    def guarded(cls, name: str, value: str, reason: str) -> Variable:
        """One whose value is kept secret where its name or what it holds asks for that."""
        secret = is_secret(name) or holds_secret(f"{name}={value}")
        return cls(name, SecretStr(value) if secret else value, reason)

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
