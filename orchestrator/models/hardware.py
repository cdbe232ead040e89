"""What do a host's cards ask of any model, by the profile of their kind?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from orchestrator.facts import topology
from orchestrator.facts.source import Unknown
from orchestrator.playbook.choice import Choice
from orchestrator.playbook.profile import Profile, load
from orchestrator.survey.cards import of_model
from orchestrator.survey.survey import Survey


def profile_of(survey: Survey, folders: Sequence[Path]) -> Profile | None:
    """That of the host's cards, in the first of these folders that has one; None where they are not all of one known kind.

    Its file is called as the card is: a plan reads this one alone. Raises UsageError("invalid_profile").
    """
    kinds = {of_model(card.name) for card in survey.facts.cards}
    card = kinds.pop() if len(kinds) == 1 else None
    if card is None:
        return None
    name = card.name.lower().replace(" ", "-")
    path = next((path for folder in folders if (path := folder / f"{name}.yaml").is_file()), None)
    return load(path) if path else None


def suited_to(profile: Profile | None, cards: int, survey: Survey) -> Iterator[Choice]:
    """What is set for a model over so many of them, with the reason; nothing where no profile is known.

    How NCCL goes about is a guess by the kind of card, and is left to the host where that was asked how its cards are linked.
    """
    links = survey.facts.of(topology.FACT)
    for asked in profile.asked(cards) if profile else ():
        for name, argument in asked.arguments.items():
            yield Choice(("arguments", name), argument.value, argument.reason)
        for name, setting in asked.environment.items():
            if isinstance(links, Unknown) or not name.startswith("NCCL_"):
                yield Choice(("environment", name), setting.plain, setting.reason)
