"""What do values have in common that are read from data: unknown keys are mistakes, and nothing in them changes?"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A value of known keys that does not change. Its validator is built when it is first needed: that of what it is part of is
    enough, as a rule."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
