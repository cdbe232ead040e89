"""How would a regular expression be written so that none of its repetitions goes on without an end?"""

from __future__ import annotations

import re
from collections.abc import Callable

_LENGTHS = (400, 200, 80, 40)
"""Ends to try for a repetition that has none: a gap wants many letters, a word few."""
_ITEM = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<sign>[*+])|\{(?P<least>\d*),\}|.", re.DOTALL)
_DIGITS = re.compile(r"(?:\\d|\[(?:\\d|0-9)[.,]*\])$")
_LONGEST_NUMBER = 20
_AT_THE_EDGE = re.compile(r"^\^?\.[*+]\??(?=\w)|(?<=\w)\.[*+]\??\$?$")
"""A gap before the first word, or behind the last, asks for nothing: an expression is looked for anywhere."""


def suggested(pattern: str, fits: Callable[[str], bool]) -> str | None:
    """The expression with ends that fits, as long ones as may be; None where ends alone do not do."""
    trimmed = _AT_THE_EDGE.sub("", pattern)
    return next((one for length in _LENGTHS if fits(one := with_ends(trimmed, length))), None)


def with_ends(pattern: str, length: int) -> str:
    """The expression, with an end of so many letters to each repetition that has none."""
    return _ITEM.sub(lambda found: _with_end(found, length), pattern)


def _with_end(found: re.Match[str], length: int) -> str:
    if found["sign"] is not None:
        # the second sign of a pair says how the first one is to be taken
        pair = found.start() > 0 and _is_sign(found.string, found.start() - 1)
        if _DIGITS.search(found.string, 0, found.start()):
            length = min(length, _LONGEST_NUMBER)
        return found[0] if pair else f"{{{int(found['sign'] == '+')},{length}}}"
    if found["least"] is not None:
        least = int(found["least"] or 0)
        return f"{{{least},{max(length, least)}}}"
    return found[0]


def _is_sign(pattern: str, at: int) -> bool:
    before = len(pattern[:at]) - len(pattern[:at].rstrip("\\"))
    return pattern[at] in "*+?}" and before % 2 == 0
