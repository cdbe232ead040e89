"""Which pieces of text, in which order, must a line hold to fit an expression?

A line that holds one word of an expression mostly lacks the next. Hyperscan looks for the pieces one behind the other in a
whole block at memory speed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from orchestrator.patches.literals import constants

Pieces = tuple[str, ...]
_SPELT_OTHERWISE = frozenset('"\\/')
"""What JSON may spell with more letters; so it may what is not printable ASCII."""
_SHORTEST = 2
_MOST_WAYS = 40
_MOST = 3
"""Pieces of one way that are looked for, the longest: more of them are no surer."""


def pieces_of(items: Sequence[Any]) -> list[Pieces]:
    """The ways in which a text can fit the items of a parsed sequence, each as the pieces that it must hold in that order;
    one without pieces says nothing."""
    return [_longest(way) for way in dict.fromkeys(_ways(items))]


def _longest(way: Pieces) -> Pieces:
    kept = sorted(sorted(range(len(way)), key=lambda at: -len(way[at]))[:_MOST])
    return tuple(way[at] for at in kept)


def _ways(items: Sequence[Any]) -> list[Pieces]:
    ways: list[Pieces] = [()]
    run = ""
    for kind, value in items:
        if kind is constants.LITERAL and _as_it_is(chr(value)):
            run += chr(value)
            continue
        if kind in (constants.AT, constants.ASSERT, constants.ASSERT_NOT):
            continue
        ways, run = _followed(ways, [_whole(run)]), ""
        ways = _followed(ways, _ways_of(kind, value))
    return _followed(ways, [_whole(run)])


def _ways_of(kind: Any, value: Any) -> list[Pieces]:
    if kind is constants.SUBPATTERN:
        _, added, _, inner = value
        return [()] if added & re.IGNORECASE else _ways(list(inner))
    if kind is constants.BRANCH:
        return [way for branch in value[1] for way in _ways(list(branch))]
    if kind in (constants.MAX_REPEAT, constants.MIN_REPEAT) and value[0] > 0:
        return _ways(list(value[2]))
    return [()]


def _followed(ways: list[Pieces], following: list[Pieces]) -> list[Pieces]:
    """Each of the ways with each of what follows; what would be too many, or has one that says nothing, is left out."""
    if () in following or len(ways) * len(following) > _MOST_WAYS:
        return ways
    return [way + more for way in ways for more in following]


def _whole(run: str) -> Pieces:
    return (run,) if len(run) >= _SHORTEST else ()


def _as_it_is(letter: str) -> bool:
    return " " <= letter <= "~" and letter not in _SPELT_OTHERWISE
