"""What was chosen for a model where nobody said it, and why?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Choice:
    """The value of a playbook's key, None where the key is left out, with the reason in one sentence.

    A `gamble` is what may turn out wrong: what it rests on is not known before the engine has started.
    """

    key: tuple[str, ...]
    value: Any
    reason: str
    gamble: bool = False

    @property
    def name(self) -> str:
        """The key as --set takes it."""
        return ".".join(self.key)

    def as_json(self) -> dict[str, Any]:
        return {"key": self.name, "value": self.value, "reason": self.reason, "gamble": self.gamble}
