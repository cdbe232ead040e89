"""Which words can a line not do without if it is to fit a regular expression?

The regular expression's own parser says so. That parser is the standard library's; nothing public does the same.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

if sys.version_info >= (3, 11):
    from re import _constants as constants  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]
else:
    import sre_constants as constants
    import sre_parse as parser

__all__ = ["SEEN", "SHORTEST_WORD", "constants", "needed_by", "parser", "remember", "search", "words_of"]

SHORTEST_WORD = 4
"""Letters of a word that is worth looking for."""
SEEN = 6000
"""Letters of a text that a pattern sees: what one costs must not grow with what somebody writes into a log."""
_HEAD = 4000
NeededWords = tuple[str, ...]
"""At least one of them is in every text that fits; an empty tuple says nothing."""


_known: dict[str, NeededWords] = {}


def remember(words: Mapping[str, Sequence[str]]) -> None:
    """What `words_of` said of these patterns before: parsing a pattern takes longer than looking for its words."""
    _known.update({pattern: tuple(needed) for pattern, needed in words.items()})


def words_of(pattern: str) -> NeededWords:
    """The words of which every text that fits `pattern` holds at least one, () where there are none."""
    if pattern not in _known:
        _known[pattern] = _words_of(pattern)
    return _known[pattern]


def search(pattern: str, text: str) -> re.Match[str] | None:
    """`re.search` for patterns of which hardly any fits: without one of its words a pattern is not even compiled.

    Of a text of more than SEEN letters only the beginning and the end count.
    """
    if len(text) > SEEN:
        text = f"{text[:_HEAD]}\n{text[_HEAD - SEEN + 1 :]}"
    words = words_of(pattern)
    for (
        word
    ) in words:  # a loop: asked a hundred times for each line that is read, any() takes three times as long
        if word in text:
            break
    else:
        if words:
            return None
    return _compiled(pattern).search(text)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _words_of(pattern: str) -> NeededWords:
    parsed = parser.parse(pattern)
    if parsed.state.flags & re.IGNORECASE:
        return ()
    return needed_by(list(parsed))


def needed_by(items: Sequence[Any]) -> NeededWords:
    """The best of what the items of a parsed sequence need, each by itself."""
    needed: list[NeededWords] = []
    run = ""
    for kind, value in items:
        if kind is constants.LITERAL:
            run += chr(value)
            continue
        if kind is constants.AT or (kind is constants.ASSERT_NOT):
            continue
        needed, run = [*needed, (run,)], ""
        needed.append(_of_item(kind, value))
    return max((words for words in [*needed, (run,)] if words and all(words)), key=_worth, default=())


def _of_item(kind: Any, value: Any) -> NeededWords:
    if kind is constants.SUBPATTERN:
        _, added, _, inner = value
        return () if added & re.IGNORECASE else needed_by(list(inner))
    if kind is constants.BRANCH:
        branches = [needed_by(list(branch)) for branch in value[1]]
        return tuple(dict.fromkeys(word for words in branches for word in words)) if all(branches) else ()
    if kind in (constants.MAX_REPEAT, constants.MIN_REPEAT):
        least, _, inner = value
        return needed_by(list(inner)) if least > 0 else ()
    return ()


def _worth(words: NeededWords) -> tuple[int, int]:
    return min(len(word) for word in words), -len(words)
