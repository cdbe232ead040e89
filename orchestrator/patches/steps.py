"""How many steps can looking for a regular expression take, whatever the text says?

The standard library's engine tries one way after the other, and somebody who writes into a log can see to it that
there are many. An upper bound follows from the expression alone: from how many places it may begin, in how many ways
each part may go on, and whether the next letter decides between them. `(a+)+$` has more ways than there are atoms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from orchestrator.patches.letters import DONE, Letters, alike, periods
from orchestrator.patches.literals import constants, parser
from orchestrator.patches.openings import (
    ATOMIC,
    GREEDY_OR_LAZY,
    POSSESSIVE,
    SINGLE,
    Items,
    Opening,
    is_single,
)

_GROUP = 3.0
"""What going through a group or an alternative takes, in steps of a plain repetition."""
_COUNTLESS = 1e18


@cache
def most_steps(pattern: str, length: int, flags: int = 0) -> float:
    """An upper bound of the steps that a search takes in any text of `length` letters; a step takes a nanosecond or two.

    Raises re.error, OverflowError or RecursionError for what is no expression.
    """
    parsed = parser.parse(pattern, flags)
    judge = _Judge(length, parsed.state.flags, tuple(parsed.state.groupwidths))
    return min(sum(judge.searched(items) for items in _choices(list(parsed))), _COUNTLESS)


def _choices(items: Items) -> Iterator[Items]:
    """What an expression that is only a choice chooses from: each is looked for by itself."""
    if len(items) == 1 and items[0][0] is constants.BRANCH:
        for branch in items[0][1][1]:
            yield from _choices(list(branch))
    else:
        yield items


@dataclass(frozen=True)
class _Cost:
    """Of a part that is begun once: how many ways lead on behind it, and the steps to find them all: `steps`, and
    `scan` over letters of which each is taken once, however often a loop begins the part."""

    ways: float
    steps: float
    scan: float = 0.0

    @property
    def total(self) -> float:
        return self.steps + self.scan


class _Judge:
    """Judges the parts of an expression for texts of at most `length` letters, under an expression's flags."""

    def __init__(self, length: int, flags: int, widths: tuple[tuple[int, int], ...]) -> None:
        self.length = length
        self.flags = flags
        self.widths = widths
        self.opening = Opening(flags)

    def searched(self, items: Items) -> float:
        """The steps of a search, which tries every place."""
        items, tail = _needed(items)
        # a match is complete without its tail, which is therefore gone through once
        once = self.length + sum(self._item(kind, value, DONE).total for kind, value in tail)
        anchors = [constants.AT_BEGINNING_STRING] + (
            [] if self.flags & re.MULTILINE else [constants.AT_BEGINNING]
        )
        if items and items[0][0] is constants.AT and items[0][1] in anchors:
            return once + self.length + self.sequence(items, DONE).total
        tried, begun = self.begun(items, self.length)
        return once + tried + begun * self.sequence(items, DONE).total

    def sequence(self, items: Items, follow: Letters) -> _Cost:
        """One part after the other; `follow` is what may come behind them."""
        paths, steps, scan = 1.0, 0.0, 0.0
        for position, (kind, value) in enumerate(items):
            rest = items[position + 1 :]
            cost = self._item(kind, value, self.opening.first(rest, follow))
            if paths == 1:
                steps, scan = steps + cost.steps, scan + cost.scan
            else:
                steps += paths * cost.total
            ways = cost.ways
            if ways > 1 and kind in GREEDY_OR_LAZY and is_single(value[2]):
                # the letters that are passed over hold the next word only so often
                tried, begun = self.begun(rest, min(value[1], self.length))
                steps, ways = steps + paths * tried, min(ways, begun)
            paths = min(paths * ways, _COUNTLESS)
        return _Cost(paths, min(steps, _COUNTLESS), scan)

    def _item(self, kind: Any, value: Any, follow: Letters) -> _Cost:
        if kind in SINGLE:
            return _Cost(1, 1)
        if kind is constants.SUBPATTERN:
            judge, inner = self._within(value)
            return judge.sequence(inner, follow)
        if kind is constants.BRANCH:
            return self._branch([list(branch) for branch in value[1]], follow)
        if kind in GREEDY_OR_LAZY:
            return self._repeat(value, follow)
        if kind is POSSESSIVE:
            return _Cost(1, self._repeat(value, DONE).total)
        if kind is ATOMIC:
            return _Cost(1, self.sequence(list(value), DONE).total)
        if kind in (constants.ASSERT, constants.ASSERT_NOT):
            if value[0] < 0 and len(set(value[1].getwidth())) > 1:
                raise re.error("look-behind requires fixed-width pattern")
            return _Cost(1, self.sequence(list(value[1]), DONE).total)
        if kind is constants.GROUPREF_EXISTS:
            return self._branch([list(branch or ()) for branch in value[1:]], follow)
        return _Cost(1, min(self.length, self.widths[value][1]) if kind is constants.GROUPREF else 1)

    def _repeat(self, value: Any, follow: Letters) -> _Cost:
        least, most, inner = value[0], min(value[1], self.length), list(value[2])
        first = self.opening.first(inner, 0)
        decided = not first & follow and value[2].getwidth()[0] > 0
        if is_single(inner):
            ways = 1.0 if decided else max(1.0, most - least + 1.0)
            return _Cost(ways, 1, 2.0 * most) if ways == 1 else _Cost(ways, 2.0 * most)
        body = self.sequence(inner, first | follow)
        times = min(most, self.length // max(1, value[2].getwidth()[0]) + 1)
        if body.ways == 1:
            ways = 1.0 if decided else max(1.0, times - least + 1.0)
            # what is passed over is passed over once, and once more where the last time fails
            scan = min(times * body.scan, 2.0 * self.length + body.scan) if body.scan else 0.0
            steps = times * (body.steps + _GROUP)
            return _Cost(ways, steps, scan) if least else _Cost(ways, steps + scan)
        ways, steps, paths = 0.0 if least or decided else 1.0, 0.0, 1.0
        for time in range(1, times + 1):
            steps += paths * (body.total + _GROUP)
            paths *= body.ways
            ways += paths if time >= least else 0.0
            if paths > _COUNTLESS:
                break
        return _Cost(min(max(ways, 1.0), _COUNTLESS), min(steps, _COUNTLESS))

    def _branch(self, branches: list[Items], follow: Letters) -> _Cost:
        costs = [self.sequence(branch, follow) for branch in branches]
        words = [self.opening.leading(branch) for branch in branches]
        tried = _GROUP * len(costs)
        if not any(alike(word, other) for at, word in enumerate(words) for other in words[at + 1 :]):
            # the letters decide which one it is
            steps, scan = max(cost.steps for cost in costs), max(cost.scan for cost in costs)
            return _Cost(max(cost.ways for cost in costs), tried + steps, scan)
        return _Cost(sum(cost.ways for cost in costs), tried + sum(cost.total for cost in costs))

    def _within(self, value: Any) -> tuple[_Judge, Items]:
        opening, inner = self.opening.within(value)
        same = opening is self.opening
        return (self if same else _Judge(self.length, opening.flags, self.widths)), inner

    def begun(self, items: Items, span: float) -> tuple[float, float]:
        """Trying a sequence at each place of `span` letters: the steps until it is known whether its first word is
        there, and at how many places it is."""
        if items and items[0][0] is constants.SUBPATTERN:
            judge, inner = self._within(items[0][1])
            return judge.begun([*inner, *items[1:]] if judge is self else inner, span)
        if items and items[0][0] is constants.BRANCH:
            tries = [self.begun([*branch, *items[1:]], span) for branch in items[0][1][1]]
            # most branches are told apart by their first letter, which takes next to nothing
            return sum(tried - 0.7 * span for tried, _ in tries), min(
                span + 1, sum(begun for _, begun in tries)
            )
        word = self.opening.leading(items)
        places = [span + 1, *(span / period + 1 for period in periods(tuple(word)))]
        return sum(places), places[-1]


def _needed(items: Items) -> tuple[Items, Items]:
    """What a text must hold to fit, and what may follow that it fits without."""
    for at in range(len(items) - 1, -1, -1):
        kind, value = items[at]
        if kind in GREEDY_OR_LAZY and value[0] == 0:
            continue
        if kind in GREEDY_OR_LAZY and is_single(value[2]):
            return [*items[:at], (kind, (value[0], value[0], value[2]))], items[at:]
        return items[: at + 1], items[at + 1 :]
    return [], items
