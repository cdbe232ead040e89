"""Which letters can stand at one place of a text, and can two words stand at the same one?"""

from __future__ import annotations

import string
from collections.abc import Sequence
from functools import cache
from typing import Any

from orchestrator.patches.literals import constants

Letters = int
"""A set of letters as bits: ASCII each by itself, the others by kind; where a text ends, where a match is complete."""
DIGIT, WORD, SPACE, OTHER, END, DONE = (1 << bit for bit in range(128, 134))
BEYOND = DIGIT | WORD | SPACE | OTHER
ANY: Letters = ((1 << 128) - 1) | BEYOND
NEWLINE: Letters = 1 << ord("\n")


def set_of(letters: str) -> Letters:
    return sum(1 << ord(letter) for letter in set(letters))


CATEGORIES: dict[Any, Letters] = {
    constants.CATEGORY_DIGIT: set_of(string.digits) | DIGIT,
    constants.CATEGORY_WORD: set_of(string.ascii_letters + string.digits + "_") | DIGIT | WORD,
    constants.CATEGORY_SPACE: set_of(" \t\n\r\f\v\x1c\x1d\x1e\x1f") | SPACE,
    constants.CATEGORY_NOT_DIGIT: ANY & ~set_of(string.digits) & ~DIGIT,
    constants.CATEGORY_NOT_WORD: ANY & ~set_of(string.ascii_letters + string.digits + "_") & ~DIGIT & ~WORD,
    constants.CATEGORY_NOT_SPACE: ANY & ~set_of(" \t\n\r\f\v\x1c\x1d\x1e\x1f") & ~SPACE,
}


def alike(word: Sequence[Letters], other: Sequence[Letters]) -> bool:
    """Whether both words may stand at one place."""
    return all(mine & its for mine, its in zip(word, other, strict=False))


@cache
def periods(word: tuple[Letters, ...]) -> tuple[int, ...]:
    """Of the beginnings of a word, one letter long to whole: how many letters lie between two places of it at least."""
    periods: list[int] = []
    for shift in range(1, len(word) + 1):
        same = 0
        while shift + same < len(word) and word[shift + same] & word[same]:
            same += 1
        periods += [shift] * (shift + same - len(periods))
    return tuple(periods)
