"""What is a patch: how one kind of failure is recognised, where it is certain, and what mends it?"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from orchestrator.base.frozen import Frozen
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


class Evidence(Frozen):
    """Where a fact comes from: a release or a URL, when, and what was seen."""

    release: str | None = None
    url: str | None = None
    date: str = ""
    seen: str = ""


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
    """A patch file. `never` names look-alikes that must not match and circumstances in which its remedy must not be
    taken; `instead_of` names more general patches, which do not count where this one recognises the failure too;
    `window` is where the failure is foreseen before it was seen; `cases` says, for people, where labelled logs of it lie.
    `tells` is which line or command would tell whether it is this, where a match is only likely. `cost` is the only
    way's, where it says none."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    title: str
    category: Category
    explanation: str = ""
    match: Annotated[
        tuple[Match, ...], AfterValidator(_one_at_least), Field(json_schema_extra={"minItems": 1})
    ]
    window: Windows = ()
    remedy: Ways = ()
    advice: Words = ()
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
            [each for match in self.match for each in (match.pattern, match.line) if each] if needed else []
        )
        named = {name for pattern in patterns for name in re.compile(pattern).groupindex}
        if needed - named:
            raise ValueError(f"a remedy needs {{{min(needed - named)}}}, which no match's pattern names")
        for pattern in patterns:
            if free := needed & loose(pattern):
                raise ValueError(_too_free(min(free), pattern))
        return self

    @property
    def ways(self) -> tuple[Way, ...]:
        """The alternatives of the remedy, each with its cost."""
        return tuple(way if way.cost else way.model_copy(update={"cost": self.cost}) for way in self.remedy)
