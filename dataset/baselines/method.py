"""What is a method, and what may it learn from?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from dataset.score import ANSI, Case, squashed

Reader = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""Of a log's text and what is known beside it: an answer, as the scorer takes one."""


class Example(NamedTuple):
    """A log to learn from. `remedy`: the first way that its label accepts, empty where it names none."""

    text: str
    verdict: str
    category: str | None
    causes: tuple[str, ...]
    remedy: tuple[Mapping[str, Any], ...] = ()
    automatic: bool = False

    def is_cause(self, line: str) -> bool:
        text = squashed(line)
        return any(squashed(part) in text for part in self.causes)


class Method(NamedTuple):
    name: str
    learned: Callable[[Sequence[Example]], Reader]
    tells: tuple[str, ...]
    """The scorer's names of what it answers at all."""


def text_of(case: Case) -> str:
    """Without colours; a progress bar's states are lines."""
    return (
        ANSI.sub("", case.log.read_bytes().decode("utf-8", "replace"))
        .replace("\r\n", "\n")
        .replace("\r", "\n")
    )


def example(case: Case) -> Example:
    label = case.label
    ways = label["remedy"]["any_of"]
    return Example(
        text_of(case),
        label["verdict"],
        label["category"],
        tuple(label["root_cause_contains"]),
        tuple(ways[0]) if ways else (),
        label["remedy"]["automatic"] is True,
    )


def remedy_of(like: Example) -> Mapping[str, Any]:
    """Another launch's remedy, as an answer proposes it."""
    told = [action for action in like.remedy if action["kind"] in ("advice", "install", "download")]
    done = [{**action, "value": _value(action.get("value"))} for action in like.remedy if action not in told]
    advice = [action.get("name", action["kind"]) for action in told]
    return {"automatic": like.automatic, "actions": done, "advice": advice}


def _value(wanted: Any) -> Any:
    """One that is within what a label accepts."""
    if isinstance(wanted, list):
        return _value(wanted[0])
    return wanted.get("le", wanted.get("ge")) if isinstance(wanted, dict) else wanted
