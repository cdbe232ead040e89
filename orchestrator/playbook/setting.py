"""What is a variable of the engine's environment in a playbook, and what may it be called?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import (
    BeforeValidator,
    GetJsonSchemaHandler,
    SecretStr,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import CoreSchema

from orchestrator.on_host.secrets.secrets import brief
from orchestrator.playbook.parts import PlaybookPart


def _scalar_text(value: Any) -> Any:
    if isinstance(value, SecretStr):
        return value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(
            "is not a variable's value; allowed: text or a number (write 1 or 0, not true or false)"
        )
    if re.search(r"[\0\r\n]", str(value)):
        raise ValueError("a variable's value is one line without NUL characters")
    return str(value)


class Setting(PlaybookPart):
    """A variable of the engine's environment, and why it is set."""

    value: Annotated[
        str | SecretStr, BeforeValidator(_scalar_text), WithJsonSchema({"type": ["string", "number"]})
    ]
    reason: str = ""

    @property
    def plain(self) -> str:
        """The value itself, to be used and never shown."""
        return self.value.get_secret_value() if isinstance(self.value, SecretStr) else self.value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """A bare value stands for itself without a reason."""
        return {"anyOf": [{"type": ["string", "number"]}, handler(core)]}

    @model_validator(mode="before")
    @classmethod
    def _bare_value(cls, setting: Any) -> Any:
        return setting if isinstance(setting, Mapping | Setting) else {"value": setting}


def variable_name(name: Any) -> str:
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(f"{brief(str(name), 60)!r} cannot name a variable; allowed: letters, digits and _")
    if name.startswith("DEPLOY_"):
        raise ValueError(f"{name} is kept for this program's own marks")
    return name
