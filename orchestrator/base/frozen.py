"""What do values have in common that are read from data: unknown keys are mistakes, and nothing in them changes?"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A value of known keys that does not change."""

    model_config = ConfigDict(frozen=True, extra="forbid")
