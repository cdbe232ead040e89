"""What is a patch: how one kind of failure is recognised, where it is certain, and what mends it?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from orchestrator.base.frozen import Frozen
from orchestrator.engines import registry
from orchestrator.patches.action import Way, Ways
from orchestrator.patches.ends import with_ends
from orchestrator.patches.form import loose
from orchestrator.patches.literals import SEEN
from orchestrator.patches.match import Match
from orchestrator.patches.steps import most_steps
from orchestrator.patches.wanted import Words, checked
from orchestrator.patches.window import Windows

MOST_STEPS_OF_A_PATCH = 150_000_000
"""Of all expressions of one patch together."""
_LONGEST_GROUP = 80
"""Letters that a group is given where an example is told."""
Category = Literal[
    "attention_backend", "kv_cache_memory", "gpu_memory", "nccl", "shm", "download", "checkpoint_corrupt",
    "quantization", "kernel_jit", "driver", "tokenizer_config", "cli_flag", "port", "ray", "parallelism", "moe",
    "transformers_version", "permissions", "other",
]  # fmt: skip


ANY = "any"
"""What stands for every engine."""


class Evidence(Frozen):
    """Where a fact comes from: a release or a URL, when, and what was seen."""

    release: str | None = None
    url: str | None = None
    date: str = ""
    seen: str = ""


def _kinds(value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
    allowed = (ANY, *registry.kinds())
    if not checked(info) and (not value or any(kind not in allowed for kind in value)):
        raise ValueError(
            f"{', '.join(value) or 'nothing'} is no kind of engine; allowed: {', '.join(allowed)}"
        )
    return value


def _of_kinds(value: Mapping[str, Words], info: ValidationInfo) -> Mapping[str, Words]:
    _kinds(tuple(value) or (ANY,), info)
    return value


def _one_at_least(value: tuple[Match, ...]) -> tuple[Match, ...]:
    if not value:  # pydantic's own check counts only those that are right, and says so of one that is wrong
        raise ValueError("is empty; allowed: at least one way to recognise the failure")
    return value


def _too_free(group: str, pattern: str) -> str:
    ended = with_ends(pattern, _LONGEST_GROUP)
    example = f"(?P<{group}>[\\w.-]{{1,{_LONGEST_GROUP}}})" if group in loose(ended) else ended
    return (
        f"a remedy needs {{{group}}}, which can be any text that somebody wrote into the log; allowed: a group of named "
        f"letters with an end, for instance {example}, or a choice of words"
    )


class Patch(Frozen):
    """A patch file. `engines` are those whose failure it is (the usual one, where it does not say), or any. `never` names look-alikes that must not match and circumstances in which its remedy must not be
    taken; `instead_of` names more general patches, which do not count where this one recognises the failure too;
    `window` is where the failure is foreseen before it was seen; `cases` says, for people, where labelled logs of it lie.
    `tells` is which line or command would tell whether it is this, where a match is only likely. `cost` is the only
    way's, where it says none. `advice_of` is what is advised instead of `advice` where an engine of that kind runs."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    title: str
    category: Category
    engines: Annotated[Words, AfterValidator(_kinds)] = (registry.USUAL,)
    explanation: str = ""
    match: Annotated[
        tuple[Match, ...], AfterValidator(_one_at_least), Field(json_schema_extra={"minItems": 1})
    ]
    window: Windows = ()
    remedy: Ways = ()
    advice: Words = ()
    advice_of: Annotated[Mapping[str, Words], AfterValidator(_of_kinds)] = Field(default_factory=dict)
    tells: Words = ()
    cost: str = ""
    never: Words = ()
    instead_of: Words = ()
    evidence: tuple[Evidence, ...] = ()
    cases: str | None = None

    @model_validator(mode="after")
    def _is_bounded(self, info: ValidationInfo) -> Patch:
        """No text can keep it busy."""
        expressions = {each for match in self.match for each in (match.pattern, *match.watched) if each}
        steps = 0.0 if checked(info) else sum(most_steps(each, SEEN) for each in expressions)
        if steps > MOST_STEPS_OF_A_PATCH:
            raise ValueError(
                f"its {len(expressions)} expressions can take {steps:,.0f} steps together; "
                f"allowed: {MOST_STEPS_OF_A_PATCH:,}"
            )
        return self

    @model_validator(mode="after")
    def _names_groups(self, info: ValidationInfo) -> Patch:
        """A value that needs a group of a pattern must be able to find it."""
        if checked(info):
            return self
        needed = {name for way in self.remedy for action in way.do for name in action.groups()}
        patterns = (
            [each for match in self.match for each in (match.pattern, match.line, *match.log) if each]
            if needed
            else []
        )
        named = {name for pattern in patterns for name in re.compile(pattern).groupindex}
        if needed - named:
            raise ValueError(f"a remedy needs {{{min(needed - named)}}}, which no match's pattern names")
        for pattern in patterns:
            if free := needed & loose(pattern):
                raise ValueError(_too_free(min(free), pattern))
        return self

    @model_validator(mode="after")
    def _names_what_its_engine_has(self, info: ValidationInfo) -> Patch:
        """An action was judged by the usual engine's rules; where another one alone runs, its own count as well."""
        if checked(info) or registry.USUAL in self.engines or ANY in self.engines:
            return self
        for kind in self.engines:
            engine = registry.read(kind)
            for action in (each for way in self.remedy for each in way.do if each.op and not each.groups()):
                if action.kind == "flag":
                    engine.arguments.remedied(action.name or "", action.op or "", action.value)
                elif action.kind == "env":
                    engine.variables.remedied(action.name or "", action.op or "", action.value)
        return self

    def concerns(self, kind: str | None) -> bool:
        """Whether an engine of that kind may fail so; where nobody says which one runs (None), any."""
        return kind is None or ANY in self.engines or kind in self.engines

    def advice_for(self, kind: str | None) -> tuple[str, ...]:
        """What a person may do where an engine of that kind runs."""
        return self.advice_of.get(kind or "", self.advice)

    @property
    def ways(self) -> tuple[Way, ...]:
        """The alternatives of the remedy, each with its cost."""
        return tuple(way if way.cost else way.model_copy(update={"cost": self.cost}) for way in self.remedy)
