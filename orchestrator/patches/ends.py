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
    return next((bounded for length in _LENGTHS if fits(bounded := with_ends(trimmed, length))), None)


def with_ends(pattern: str, length: int) -> str:
    """The expression, with an end of so many letters to each repetition that has none."""
    return _ITEM.sub(lambda match: _with_end(match, length), pattern)


def _with_end(match: re.Match[str], length: int) -> str:
    if match["sign"] is not None:
        # the second sign of a pair says how the first one is to be taken
        pair = match.start() > 0 and _is_sign(match.string, match.start() - 1)
        if _DIGITS.search(match.string, 0, match.start()):
            length = min(length, _LONGEST_NUMBER)
        return match[0] if pair else f"{{{int(match['sign'] == '+')},{length}}}"
    if match["least"] is not None:
        least = int(match["least"] or 0)
        return f"{{{least},{max(length, least)}}}"
    return match[0]


def _is_sign(pattern: str, at: int) -> bool:
    before = len(pattern[:at]) - len(pattern[:at].rstrip("\\"))
    return pattern[at] in "*+?}" and before % 2 == 0
