"""What does a kind of card ask of any model that is launched on it?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from orchestrator.base.yaml_file import load_model
from orchestrator.engines.command_line import checked_value
from orchestrator.playbook.parts import Citation, Count, OneLine, PlaybookPart
from orchestrator.playbook.setting import Setting, variable_name


class Argument(PlaybookPart):
    """An option of the engine, and why it is set."""

    value: Annotated[Any, BeforeValidator(checked_value)]
    reason: OneLine


class Asked(PlaybookPart):
    """What is set where a model is spread over one of these numbers of cards; over any where none is named."""

    over: tuple[Count, ...] = ()
    arguments: dict[OneLine, Argument] = Field({})
    environment: dict[Annotated[str, BeforeValidator(variable_name)], Setting] = Field({})


class Profile(PlaybookPart):
    """A kind of card, by the name that `--gpu` takes, with what is set for one or several of them."""

    description: OneLine
    card: OneLine
    settings: tuple[Asked, ...] = ()
    sources: tuple[Citation, ...]

    def asked(self, cards: int) -> tuple[Asked, ...]:
        """What holds for a model over so many cards."""
        return tuple(each for each in self.settings if not each.over or cards in each.over)


def load(path: Path) -> Profile:
    """Read a profile; UsageError("invalid_profile") says file, line and key."""
    return load_model(path, Profile, code="invalid_profile")
