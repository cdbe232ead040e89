"""With which letters can a part of a regular expression begin?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from orchestrator.patches.letters import (
    ANY,
    BEYOND,
    CATEGORIES,
    DIGIT,
    DONE,
    END,
    NEWLINE,
    OTHER,
    SPACE,
    WORD,
    Letters,
    set_of,
)
from orchestrator.patches.literals import constants

_FAR = 48
"""Letters of a word that are looked at to tell how close to each other it may stand."""

SINGLE = (constants.LITERAL, constants.NOT_LITERAL, constants.ANY, constants.IN)
GREEDY_OR_LAZY = (constants.MAX_REPEAT, constants.MIN_REPEAT)
POSSESSIVE = getattr(constants, "POSSESSIVE_REPEAT", None)
ATOMIC = getattr(constants, "ATOMIC_GROUP", None)
Items = Sequence[tuple[Any, Any]]


class Opening:
    """The letters of the parts of an expression under its flags."""

    def __init__(self, flags: int) -> None:
        self.flags = flags

    def within(self, value: Any) -> tuple[Opening, Items]:
        """The parts of a group, and their flags: it may set and take away some."""
        _, added, taken, inner = value
        flags = (self.flags | added) & ~taken
        return (self if flags == self.flags else Opening(flags)), list(inner)

    def leading(self, items: Items) -> list[Letters]:
        """The letters that a sequence must begin with, place by place, as far as they are known."""
        word: list[Letters] = []
        for kind, value in items:
            if len(word) >= _FAR:
                break
            if kind in (constants.AT, constants.ASSERT, constants.ASSERT_NOT):
                continue
            if kind in SINGLE:
                word.append(self._letters(kind, value))
                continue
            inner, exact = self._leading_of(kind, value)
            word += inner
            if not exact:
                break
        return word[:_FAR]

    def _leading_of(self, kind: Any, value: Any) -> tuple[list[Letters], bool]:
        """The same of one part, and whether it ends with them."""
        if kind is constants.SUBPATTERN:
            opening, inner = self.within(value)
            word = opening.leading(inner)
            return word, value[3].getwidth() == (len(word), len(word))
        if kind is constants.BRANCH:
            words = [self.leading(list(branch)) for branch in value[1]]
            least = min(map(len, words))
            together = [0] * least
            for word in words:
                together = [letters | other for letters, other in zip(together, word, strict=False)]
            widths = {branch.getwidth() for branch in value[1]}
            return together, widths == {(least, least)}
        if kind in GREEDY_OR_LAZY and value[0] > 0:
            word = self.leading(list(value[2]))
            if not is_single(value[2]):
                return word, False
            return word * min(value[0], _FAR), value[0] == value[1]
        return [], False

    def first(self, items: Items, follow: Letters) -> Letters:
        """With what letters a sequence can begin that `follow` comes behind."""
        letters: Letters = 0
        conditional = False
        for kind, value in items:
            if kind is constants.AT and value in (constants.AT_END, constants.AT_END_STRING):
                return letters | NEWLINE | END
            if kind in (constants.AT, constants.ASSERT, constants.ASSERT_NOT):
                conditional = True
                continue
            added, may_be_empty = self._first_of(kind, value)
            letters |= added
            if not may_be_empty:
                return letters
        # a condition at the very end may fail anywhere
        return letters | (ANY if conditional and follow & DONE else follow)

    def _first_of(self, kind: Any, value: Any) -> tuple[Letters, bool]:
        if kind in SINGLE:
            return self._letters(kind, value), False
        if kind is constants.SUBPATTERN:
            opening, inner = self.within(value)
            return opening.first(inner, 0), value[3].getwidth()[0] == 0
        if kind is constants.BRANCH:
            letters = 0
            for branch in value[1]:
                letters |= self.first(list(branch), 0)
            return letters, min(branch.getwidth()[0] for branch in value[1]) == 0
        if kind in GREEDY_OR_LAZY or kind is POSSESSIVE:
            return self.first(list(value[2]), 0), value[0] == 0 or value[2].getwidth()[0] == 0
        if kind is ATOMIC:
            return self.first(list(value), 0), value.getwidth()[0] == 0
        return ANY, True

    def _letters(self, kind: Any, value: Any) -> Letters:
        if kind is constants.ANY:
            return ANY if self.flags & re.DOTALL else ANY & ~NEWLINE
        if kind is constants.LITERAL:
            return self._of_letter(value)
        if kind is constants.NOT_LITERAL:
            return ANY & ~(self._of_letter(value) & ~BEYOND)
        letters, negated = 0, False
        for inner, detail in value:
            if inner is constants.NEGATE:
                negated = True
            elif inner is constants.CATEGORY:
                letters |= CATEGORIES[detail]
            elif inner is constants.RANGE:
                letters |= self._of_range(*detail)
            else:
                letters |= self._of_letter(detail)
        if not negated:
            return letters
        # of the letters beyond ASCII only whole kinds are known to be left out
        whole = 0
        for inner, detail in value:
            if inner is constants.CATEGORY:
                whole |= CATEGORIES[detail] & BEYOND
        return ANY & ~(letters & ~BEYOND) & ~whole

    def _of_letter(self, code: int) -> Letters:
        letter = chr(code)
        if self.flags & re.IGNORECASE and letter.isalpha():
            # beyond ASCII there are other forms of i, k and s
            others = WORD if code >= 128 or letter in "iIkKsS" else 0
            both = f"{letter.lower()}{letter.upper()}"
            return set_of("".join(each for each in both if ord(each) < 128)) | others
        if code < 128:
            return 1 << code
        return (
            DIGIT if letter.isdigit() else WORD if letter.isalnum() else SPACE if letter.isspace() else OTHER
        )

    def _of_range(self, low: int, high: int) -> Letters:
        letters = BEYOND if high >= 128 else 0
        for code in range(low, min(high, 127) + 1):
            letters |= self._of_letter(code)
        return letters


def is_single(inner: Any) -> bool:
    return len(inner) == 1 and inner[0][0] in SINGLE
