"""How is a model launched on this host where nobody said it: one of the Hub or of a folder there, or by a playbook that leaves it
open? Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.base.amounts import decimal
from orchestrator.checkpoint import architecture
from orchestrator.engines.command_line import arguments_of
from orchestrator.engines.consents import TRUST
from orchestrator.engines.sizing import Fit, smallest_memory_gib, weights_gib_per_gpu
from orchestrator.facts.gpus import Gpu
from orchestrator.models.hardware import suited_to
from orchestrator.models.published import TOKENIZER, Published, document
from orchestrator.on_host.checkpoint.configs import CONFIG
from orchestrator.on_host.secrets.secrets import brief
from orchestrator.plan.installing import expected, on_cpu
from orchestrator.plan.plan import Plan, make_plan
from orchestrator.plan.wishes import Wishes
from orchestrator.playbook.choice import Choice
from orchestrator.playbook.parts import EngineSettings
from orchestrator.playbook.playbook import Playbook
from orchestrator.playbook.profile import Profile
from orchestrator.playbook.shape import USEFUL_TOKENS
from orchestrator.programs.inspect_checkpoint import Index
from orchestrator.survey.checkpoint import flaw
from orchestrator.survey.survey import Survey

TENSOR, CONTEXT, IGNORE = ("parallel", "tensor"), ("context",), ("checkpoint", "ignore")
PYTHON = ("engine", "python")
_UNSIZED_SHARE = 0.75
"""Of what the engine takes of a card, the most that weights may be where nobody knows what a token costs."""
_ROUND = 1024


@dataclass(frozen=True)
class Chosen:
    """The playbook that a model is launched by, and what was chosen in it."""

    playbook: Playbook
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class _Model:
    """What is known of a model that decides: config.json, or what is known of it, and bytes of weights."""

    repository: str
    config: Mapping[str, Any]
    weights_bytes: int | None


def before_any_host(asked: Playbook, published: Published) -> Playbook:
    """The deployment with what the repository alone decides: which of its files are fetched."""
    return asked.completed({IGNORE: published.superfluous}) if published.superfluous else asked


def foreseen(survey: Survey, published: Published) -> Survey:
    """The host as it will be once the model is there, by what the Hub has."""
    flaws = {name: reason for name, content in published.configs.items() if (reason := flaw(content))}
    there = replace(
        survey.checkpoint,
        configs={name: content for name, content in published.configs.items() if name not in flaws},
        broken=flaws,
        unreadable={},
        index=Index(
            total_size=published.weights_bytes,
            shards=published.shards,
            present=(),
            missing=published.shards,
            broken=False,
        ),
    )
    return replace(survey, checkpoint=there)


def choose(
    host: str,
    asked: Playbook,
    published: Published | None,
    survey: Survey,
    wishes: Wishes,
    profile: Profile | None = None,
) -> Chosen:
    """Everything that was not asked for, of a model of the Hub, or (`published` is None) of a folder or a playbook that leaves it open.

    `profile` is what is known of the host's cards. The same model, host and version give the same, whatever is on the disk.
    """
    if published is not None:
        model = _Model(published.repository, published.config, published.weights_bytes)
        later = foreseen(survey, published)
    else:
        model, later = _of_playbook(asked, survey), survey
    # what others hold of the cards now says nothing about what the model needs
    later = replace(later, fresh=False)
    version = wishes.version(survey) or expected(asked, survey)

    def hardware(cards: int) -> tuple[Choice, ...]:
        return _left_open(asked, suited_to(profile, cards, survey))

    sized = _left_open(asked, _size(host, asked, model, later, wishes, hardware))
    if published is not None:
        repository = (*_files(published), *_code(model.config, published.document(TOKENIZER)))
    else:  # a playbook's file says by itself whether code is run
        repository = () if asked.source else (*_code_there(model.config, survey),)
    choices = (
        *(choice for choice in repository if asked.origin(*choice.key) != "option"),
        *_left_open(asked, _parsers(asked, model, version)),
        *sized,
        *hardware(_with(asked, sized).parallel.gpus),
    )
    return Chosen(_with(asked, choices), choices)


def _left_open(asked: Playbook, choices: Iterable[Choice]) -> tuple[Choice, ...]:
    return tuple(choice for choice in choices if asked.origin(*choice.key) == "default")


def _with(asked: Playbook, choices: Iterable[Choice]) -> Playbook:
    return asked.completed(
        {
            choice.key: {"value": choice.value, "reason": choice.reason}
            if choice.key[0] == "environment"
            else choice.value
            for choice in choices
            if choice.value is not None
        }
    )


def _of_playbook(asked: Playbook, survey: Survey) -> _Model:
    """By its files where they are there, by its figures before."""
    there, figures = survey.checkpoint, asked.figures
    config = document(there.configs[CONFIG]) if CONFIG in there.configs else figures.config
    return _Model(
        asked.model.repository or asked.served_name, config, there.weights_bytes or figures.weights_bytes
    )


def brought(asked: Playbook, survey: Survey) -> Choice:
    """That an engine which was come upon on the host is taken, since none was named."""
    version = survey.engine.version if survey.engine else "of a version that is not known"
    reason = f"{asked.kind.title} {version} is there, and none that will do in the host's {EngineSettings().python}"
    return Choice(PYTHON, asked.engine.python, reason)


def _files(published: Published) -> Iterator[Choice]:
    if published.superfluous:
        yield Choice(
            IGNORE,
            list(published.superfluous),
            "the same weights once more, in forms that the engine does not read",
        )


def _code(config: Mapping[str, Any], tokenizer: Mapping[str, Any]) -> Iterator[Choice]:
    key = ("arguments", TRUST)
    if "auto_map" in tokenizer:
        yield Choice(key, True, "its tokenizer is code in the repository, which the engine would run")
    elif "auto_map" in config:
        reason = "its classes are in the repository (auto_map): left out, since engines have their own of most such models"
        yield Choice(key, None, reason, gamble=True)


def _code_there(config: Mapping[str, Any], survey: Survey) -> Iterator[Choice]:
    """Of the tokenizer, which is not read there, the last launch tells."""
    command = (survey.observed.command or {}).get("argv") or ()
    if TRUST.replace("-", "_") in arguments_of(tuple(command)):
        yield Choice(("arguments", TRUST), True, "the last launch here ran code of the repository")
    else:
        yield from _code(config, {})


def _parsers(asked: Playbook, model: _Model, version: str | None) -> Iterator[Choice]:
    name = model.repository.rpartition("/")[2]
    model_type = brief(str(model.config.get("model_type", "")), 60)
    for item in asked.kind.parsers(model_type, name, version):
        yield Choice(("arguments", item.option), item.value, item.reason, item.gamble)


def _size(
    host: str,
    asked: Playbook,
    model: _Model,
    survey: Survey,
    wishes: Wishes,
    hardware: Callable[[int], tuple[Choice, ...]],
) -> Iterator[Choice]:
    """Over how many cards, and for which context: judged by the plan itself, with what it predicts."""
    shape = architecture.read(model.config)
    own = shape.max_position_embeddings
    useful = min(own or USEFUL_TOKENS, USEFUL_TOKENS)
    if asked.origin(*CONTEXT) != "default" and asked.context != "auto":
        own = useful = asked.context
    version = wishes.version(survey) or expected(asked, survey)
    fitted = version is not None and asked.kind.fits_context(version)
    if asked.needs.gpus == 0 or on_cpu(asked, survey):
        yield Choice(TENSOR, 1, "the engine runs on the CPU")
        yield _unsized("what a token costs on the CPU is not known here", own, useful, fitted=fitted)
        return
    cards = [card for card in survey.facts.cards if not card.unusable]
    counts = counts_for(len(cards), shape.heads)
    if asked.origin(*TENSOR) != "default":
        counts = [asked.parallel.tensor]
    tried = None
    for tensor in counts:
        if tensor != counts[-1] and _too_heavy(asked, model, cards, tensor):
            continue  # a trial plan would say the same, and costs as much as the plan
        spread = _with(asked, hardware(tensor)).completed({TENSOR: tensor, CONTEXT: own or useful})
        tried = _tried(host, spread, survey, wishes)
        if tried.runs and _enough(tried.fit, useful):
            break
    assert tried is not None  # there is one count at least
    yield _spread(tried.fit, tensor, len(cards), useful, model.weights_bytes)
    yield from tried.beside
    yield _context(tried.fit, own, useful, fitted=fitted)


def _too_heavy(asked: Playbook, model: _Model, cards: Sequence[Gpu], tensor: int) -> bool:
    """Whether the weights alone are more than the smallest card."""
    memory = smallest_memory_gib([card.memory_mib for card in cards])
    if memory is None or model.weights_bytes is None:
        return False
    ranks = tensor * asked.parallel.pipeline
    return weights_gib_per_gpu(model.weights_bytes, gpus=ranks, replicated_bytes=None) > memory


@dataclass(frozen=True)
class _Tried:
    """What a trial plan came to: whether nothing is foreseen to end the launch, and what had to be chosen for that."""

    fit: Fit
    runs: bool
    beside: tuple[Choice, ...] = ()


def _tried(host: str, spread: Playbook, survey: Survey, wishes: Wishes) -> _Tried:
    """Experts whose parts would not do are dealt out whole, where that does."""
    plan = make_plan(host, spread, survey, wishes)
    whole = spread.kind.whole_experts
    if _runs(plan) or whole is None or spread.origin("arguments", whole.option) != "default":
        return _Tried(plan.fit, _runs(plan))
    choice = Choice(("arguments", whole.option), whole.value, whole.reason)
    other = make_plan(host, _with(spread, [choice]), survey, wishes)
    return _Tried(other.fit, True, (choice,)) if _runs(other) else _Tried(plan.fit, False)


def _runs(plan: Plan) -> bool:
    return not any(refusal.code == "foreseen" for refusal in plan.refusals)


def counts_for(cards: int, heads: int | None) -> list[int]:
    """Powers of two, as far as there are cards and the attention heads can be dealt out to them."""
    counts = [1]
    while (more := 2 * counts[-1]) <= cards and (heads or more) % more == 0:
        counts.append(more)
    return counts


def _enough(fit: Fit, useful: int) -> bool:
    """Whether weights and a useful context have room; where a token's cost is not known, whether weights leave some."""
    if fit.verdict == "unknown":
        if fit.memory_gib is None or fit.weights_gib_per_gpu is None:
            return True  # more cards would be no better founded
        return fit.weights_gib_per_gpu <= _UNSIZED_SHARE * fit.utilisation * fit.memory_gib
    return (fit.longest_context or 0) >= useful


def _spread(fit: Fit, tensor: int, cards: int, useful: int, size: int | None) -> Choice:
    weights = decimal(size) if size else "weights of unknown size"
    over = f"{tensor} of {cards} cards"
    if not cards:
        return Choice(TENSOR, tensor, f"{weights}; the host's cards are not known", gamble=True)
    if fit.memory_gib is None or fit.weights_gib_per_gpu is None:
        return Choice(
            TENSOR, tensor, f"{weights}; what a card holds or the model weighs is not known", gamble=True
        )
    each = f"{weights}, {fit.weights_gib_per_gpu:.1f} GiB of weights on each of {over} of {fit.memory_gib:.0f} GiB"
    if fit.verdict == "unknown":
        return Choice(TENSOR, tensor, f"{each}; what a token of context costs is not known here", gamble=True)
    if _enough(fit, useful):
        return Choice(TENSOR, tensor, f"the fewest that leave room for {useful} tokens: {each}")
    return Choice(
        TENSOR,
        tensor,
        f"no more can be used, and they leave no room for {useful} tokens: {each}",
        gamble=True,
    )


def _context(fit: Fit, own: int | None, useful: int, *, fitted: bool) -> Choice:
    if fit.verdict == "unknown":
        return _unsized(fit.reason, own, useful, fitted=fitted)
    longest = fit.longest_context or 0
    if own is not None and longest >= own:
        return Choice(CONTEXT, own, "the model's own")
    if longest and own is None:
        return Choice(CONTEXT, min(longest, useful), f"{CONFIG} names none", gamble=True)
    if longest:
        tokens = longest // _ROUND * _ROUND or longest
        return Choice(CONTEXT, tokens, f"the largest that fits; the model's own {own} does not")
    return Choice(CONTEXT, useful, f"nothing fits: {fit.reason}", gamble=True)


def _unsized(unknown: str, own: int | None, useful: int, *, fitted: bool) -> Choice:
    """Where nobody knows here what fits: the engine measures it once it has loaded the weights, where it can (`fitted`)."""
    if fitted:
        most = "" if own is None else f", at most the model's own {own}"
        return Choice(CONTEXT, "auto", f"{unknown}: the engine takes as many tokens as fit{most}")
    return Choice(CONTEXT, useful, f"{_of_the_model(useful, own)}; {unknown}", gamble=True)


def _of_the_model(tokens: int, own: int | None) -> str:
    if own is None:
        return f"{CONFIG} names none"
    return "the model's own" if tokens == own else f"less than the model's own {own}"
