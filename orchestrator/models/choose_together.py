"""How is a model that nobody laid out launched on several hosts that serve it together? Pure.

What is chosen for one host by its cards is chosen here once for all of them, by the host that has the fewest: ranks of one launch
have the same options on every host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from orchestrator.models.choose import CONTEXT, TENSOR, Chosen, choose
from orchestrator.models.published import Published
from orchestrator.plan.installing import on_cpu
from orchestrator.plan.wishes import Wishes
from orchestrator.playbook.choice import Choice
from orchestrator.playbook.playbook import Playbook
from orchestrator.playbook.profile import Profile
from orchestrator.survey.survey import Survey

NODES, PIPELINE, DATA = ("parallel", "nodes"), ("parallel", "pipeline"), ("parallel", "data")
MOST_HOSTS = 16
"""Of more hosts it is not reckoned whether they would do."""


def fewest(surveys: Mapping[str, Survey]) -> str:
    """The host by which it is chosen: that with the fewest cards that can be used, of these that with the smallest."""

    def room(name: str) -> tuple[int, int]:
        cards = [card for card in surveys[name].facts.cards if not card.unusable]
        return len(cards), min((card.memory_mib or 0 for card in cards), default=0)

    return min(surveys, key=room)


def choose_together(
    asked: Playbook,
    spread: Sequence[Choice],
    published: Published | None,
    surveys: Mapping[str, Survey],
    wishes: Wishes,
    profile: Profile | None = None,
) -> tuple[Choice, ...]:
    """`spread`, by which `asked` is one for these hosts, with what is the same on all of them: the ranks of each, the context, and
    what was chosen to have the ranks run; its first choice says whether fewer hosts would do, or more."""
    host = fewest(surveys)
    survey = surveys[host]
    if on_cpu(asked, survey):
        return _over_processors(asked, spread, len(surveys))

    def chosen(hosts: int) -> Chosen:
        staged = _staged(asked, spread, len(surveys), hosts)
        return choose(host, staged, published, survey, wishes, profile)

    together = chosen(len(surveys))
    common = tuple(
        choice
        for choice in together.choices
        if choice.key in (TENSOR, CONTEXT) or _whole_experts(asked, choice)
    )
    tensor = next((choice for choice in common if choice.key == TENSOR), None)
    if tensor is None or not any(choice.key == PIPELINE for choice in spread):
        return (*spread, *common)
    if tensor.gamble:
        enough = (hosts for hosts in range(len(surveys) + 1, MOST_HOSTS + 1) if _holds(chosen(hosts)))
        more = next(enough, None) if _known(survey) else None
        words = f"; {more} such hosts would hold it with a useful context" if more else ""
    else:
        alone = chosen(1)
        words = _alone(host, alone, len(surveys)) if _holds(alone) else ""
    counts = {len(each.facts.cards) for each in surveys.values()}
    by = f"; chosen by {host}, which has the fewest cards" if len(counts) > 1 else ""
    return (*(_saying(choice, words + by) for choice in spread), *common)


def _staged(asked: Playbook, spread: Sequence[Choice], now: int, hosts: int) -> Playbook:
    """The same with its layers shared out over so many hosts, where that was chosen."""
    if hosts == now or not any(choice.key == PIPELINE for choice in spread):
        return asked
    stages = asked.parallel.pipeline // now * hosts
    return asked.as_node(None).completed({NODES: hosts, PIPELINE: stages})


def _holds(chosen: Chosen) -> bool:
    return any(choice.key == TENSOR and not choice.gamble for choice in chosen.choices)


def _known(survey: Survey) -> bool:
    return bool(survey.facts.cards)


def _alone(host: str, alone: Chosen, hosts: int) -> str:
    cards = alone.playbook.parallel.tensor
    count = f"{cards} of its cards" if cards > 1 else "one of its cards"
    return f"; it fits on {host} alone, on {count}: {hosts} or more replicas of a fleet would serve more"


def _saying(choice: Choice, words: str) -> Choice:
    return replace(choice, reason=choice.reason + words) if choice.key == NODES else choice


def _whole_experts(asked: Playbook, choice: Choice) -> bool:
    whole = asked.kind.whole_experts
    return whole is not None and choice.key == ("arguments", whole.option)


def _over_processors(asked: Playbook, spread: Sequence[Choice], hosts: int) -> tuple[Choice, ...]:
    """As `group.spread` has it for a playbook that needs no GPU."""
    if not any(choice.key == PIPELINE for choice in spread) or asked.origin(*TENSOR) == "option":
        return tuple(spread)
    why = "on CPUs a layer is spread over the hosts: stages of a pipeline are for GPUs"
    kept = (choice for choice in spread if choice.key != PIPELINE)
    return (*kept, Choice(PIPELINE, 1, "no stages on CPUs"), Choice(TENSOR, hosts, why))
