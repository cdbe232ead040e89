"""Which groups of an expression can read any text, rather than one of a form that the expression gives?

Whoever is served can write into a log, so only what has a form and an end may become a value of a command.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orchestrator.patches.literals import constants, parser

LONGEST_VALUE = 256
_MOST_LETTERS = 80
"""Of a class, counted one by one: letters, digits and some signs; all that ASCII can print are 95."""
_FREE = (
    constants.CATEGORY_SPACE, constants.CATEGORY_NOT_SPACE, constants.CATEGORY_NOT_WORD, constants.CATEGORY_NOT_DIGIT,
)  # fmt: skip


def loose(pattern: str) -> frozenset[str]:
    """The named groups whose own part of the expression has no end, or takes letters by what they are not or all there are."""
    parsed = parser.parse(pattern)
    names = {number: name for name, number in parsed.state.groupdict.items()}
    return frozenset(
        names[number]
        for number, inner in _groups(parsed)
        if number in names and (inner.getwidth()[1] > LONGEST_VALUE or not _has_form(inner))
    )


def _groups(items: Any) -> Iterator[tuple[int, Any]]:
    for kind, value in items:
        if kind is constants.SUBPATTERN and value[0] is not None:
            yield value[0], value[3]
        for part in _parts(kind, value):
            yield from _groups(part)


def _has_form(items: Any) -> bool:
    return all(_of_a_form(kind, value) for kind, value in items)


def _of_a_form(kind: Any, value: Any) -> bool:
    if kind in (constants.ANY, constants.NOT_LITERAL, constants.GROUPREF):
        return False
    if kind is constants.IN:
        free = any(
            inner is constants.NEGATE or (inner is constants.CATEGORY and detail in _FREE)
            for inner, detail in value
        )
        counted = sum(detail[1] - detail[0] + 1 for inner, detail in value if inner is constants.RANGE)
        return not free and counted <= _MOST_LETTERS
    # what is only looked at is not read
    return kind in (constants.ASSERT, constants.ASSERT_NOT) or all(map(_has_form, _parts(kind, value)))


def _parts(kind: Any, value: Any) -> list[Any]:
    """The expressions within a part of one."""
    if kind is constants.SUBPATTERN:
        return [value[3]]
    if kind is constants.BRANCH:
        return list(value[1])
    if kind in (constants.ASSERT, constants.ASSERT_NOT):
        return [value[1]]
    if kind is constants.GROUPREF_EXISTS:
        return [part for part in value[1:] if part is not None]
    if isinstance(value, tuple) and kind not in (constants.IN, constants.RANGE):
        return [part for part in value if isinstance(part, parser.SubPattern)]
    return [value] if isinstance(value, parser.SubPattern) else []
