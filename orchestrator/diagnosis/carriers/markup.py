"""What did a page, a terminal or a program do to the letters of a log: entities, colours without their escape, line feeds
spelt out?"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from orchestrator.diagnosis.carriers import anchors
from orchestrator.diagnosis.carriers.layer import Numbered
from orchestrator.engines.log_grammar import LogGrammar

_COLOUR = re.compile(
    r"(?:\^\[|\\x1b|\\u001b|\\033|\\e|#033|\u241b)\[[\d;]{0,20}m|\[\d{1,3}(?:;\d{1,3}){0,4}m|#015(?=\"?\s*$)"
)
_ENTITY = re.compile(r"File &quot;|in &lt;\w+&gt;|&#(?:39|x27|34|x22);|&(?:quot|lt|gt|amp);")
_PAGE = re.compile(r"</(?:pre|code|div|span|p|td)>\s*$")
_TAGS = re.compile(r"^(?:<(?!module>)[a-z]\w*(?: [^<>]*)?>)+|(?:</\w+>|<br ?/?>)+$")
_LINE_FEED = re.compile(r"(?<!\\)(?:\\r)?\\n")
_SIGN = re.compile(r"\\(.)")
_SIGNS = {"t": "\t", "r": "\r", "n": "\n"}
_LEAST = 3


@dataclass(frozen=True)
class Respelt:
    """Writes the letters of each line as the engine did."""

    spelt: Callable[[str], str]

    def peel(self, lines: Iterable[Numbered]) -> Iterator[Numbered]:
        return (Numbered(number, each) for number, text in lines for each in self.spelt(text).split("\n"))


def colours(lines: Sequence[str], _grammar: LogGrammar) -> Respelt | None:
    """Colours whose escape was lost on the way, or is written out, and what syslog makes of a carriage return."""
    coloured = sum(_COLOUR.search(text) is not None for text in lines)
    return Respelt(_colourless) if coloured >= _LEAST else None


def _colourless(text: str) -> str:
    return _COLOUR.sub("", text)


def entities(lines: Sequence[str], _grammar: LogGrammar) -> Respelt | None:
    """What a page makes of the signs that mean something to it."""
    spelt = sum(_ENTITY.search(text) is not None for text in lines)
    closed = any(_PAGE.search(text) for text in lines)
    quoted = any(' File "' in text for text in lines)
    return Respelt(_of_page) if (spelt >= 2 or closed) and not quoted else None


def _of_page(text: str) -> str:
    return html.unescape(_TAGS.sub("", text))


def escapes(lines: Sequence[str], grammar: LogGrammar) -> Respelt | None:
    """A whole log in one line, its line feeds spelt out."""
    parts = [part for text in lines for part in _LINE_FEED.split(text)[1:]]
    return Respelt(_in_lines) if sum(map(anchors.of(grammar).begins, parts)) >= _LEAST else None


def _in_lines(text: str) -> str:
    if len(_LINE_FEED.findall(text)) < _LEAST:
        return text
    parts = _LINE_FEED.split(text)
    return "\n".join(_SIGN.sub(lambda sign: _SIGNS.get(sign[1], sign[1]), part) for part in parts)
