"""What do a log's lines have before what the engine wrote, as far as they have it in common?

Learned from the lines themselves: the prefixes that stand before the engine's own beginnings are taken apart into words,
blanks and signs; those of one form give one expression, in which what varies (times, numbers, levels, names) may vary.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from orchestrator.diagnosis.carriers import anchors
from orchestrator.diagnosis.carriers.layer import Numbered
from orchestrator.diagnosis.hearsay import worded_by_a_client
from orchestrator.engines.log_grammar import LogGrammar

_WORD = r"[\w.+@/~#%-]+"
_is_word = re.compile(_WORD).fullmatch
_TOKENS = re.compile(rf"\s+|{_WORD}|.", re.DOTALL)
_LEVEL = re.compile(r"(?i:trace|debug|info|notice|warn(?:ing)?|err(?:or)?|crit(?:ical)?|fatal)$")
_CALENDAR = re.compile(
    r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*$"
)
_FORMS = 12
"""Of prefixes: one for each pod, level and width may differ."""
_LEAST_SHARE = 0.02
"""Of the prefixes, which must have a form."""
_SHARE = 0.3
_SHARE_OF_RECORDS = 0.9
"""Of the lines, which must have one of the forms; the second where records alone show it."""
_LONGEST = 240
_MOST_WORDS = 16


@dataclass(frozen=True)
class Prefix:
    """Takes what fits off the beginning of each line that has it."""

    before: re.Pattern[str]

    def peel(self, lines: Iterable[Numbered]) -> Iterator[Numbered]:
        for number, text in lines:
            prefix = self.before.match(text)
            yield Numbered(number, text[prefix.end() :] if prefix else text)


def learn(lines: Sequence[str], grammar: LogGrammar) -> Prefix | None:
    """What stands around these lines; None where nothing stands before enough of them."""
    placed = anchors.placed(lines, grammar)
    prefixes = [lines[number][:offset] for number, offset in placed.inside + placed.prefixed]
    written = _expressions([each for each in prefixes if _may_carry(each, grammar)])
    expressions = [each for each in written if not _swallows(each, lines)]
    if not expressions:
        return None
    before = re.compile("|".join(f"(?:{each})" for each in expressions))
    worn = sum(before.match(text) is not None for text in lines)
    # what an engine was told to put before its records is not before its other output
    share = _SHARE if placed.inside else _SHARE_OF_RECORDS
    if worn < share * sum(bool(text.strip()) for text in lines):
        return None
    return Prefix(before)


def _may_carry(prefix: str, grammar: LogGrammar) -> bool:
    """Whether it can be what a launcher put there: no quotation and no bracket is open, and no client words it."""
    quoted = any(prefix.count(sign) % 2 for sign in "\"'")
    opened = any(prefix.count(left) > prefix.count(right) for left, right in ("()", "[]", "{}"))
    client = worded_by_a_client(None, None, prefix, grammar.clients)
    return len(prefix) <= _LONGEST and not (quoted or opened or client)


def _swallows(expression: str, lines: Sequence[str]) -> bool:
    """Whether it takes away where tracebacks begin more often than it ends there: before one line of a list of exceptions, or of
    a test that quotes one, stand words of the form that any other words have."""
    before = re.compile(expression)
    worn = ((before.match(text), text.find(anchors.TRACEBACK)) for text in lines)
    beyond = [prefix.end() - opening for prefix, opening in worn if prefix and opening >= 0]
    return sum(each > 0 for each in beyond) > beyond.count(0)


def _expressions(prefixes: Sequence[str]) -> list[str]:
    """One expression for each form that some of the prefixes have, the usual ones first."""
    groups: dict[tuple[str, ...], list[list[str]]] = defaultdict(list)
    for prefix in prefixes:
        tokens = _TOKENS.findall(prefix)
        # the last blanks are part of what the line says, but for those that all have
        words = [token if token.strip() else " " for token in tokens]
        form = tuple("word" if _is_word(token) else token for token in words)
        groups[form].append(tokens)
    usual = sorted(groups.values(), key=len, reverse=True)[:_FORMS]
    least = max(1, int(_LEAST_SHARE * len(prefixes)))
    written = [_expression(group) for group in usual if len(group) >= least]
    # a longer form may begin as a shorter one does
    return sorted({each for each in written if each}, key=lambda each: -len(each))


def _expression(group: Sequence[list[str]]) -> str | None:
    columns = list(zip(*group, strict=True))
    last = columns[-1]
    blanks = not last[0].strip()
    inner = columns[:-1] if blanks else columns
    firm = any(_is_firm(column) for column in inner)
    if not inner:  # lines that are indented
        return " " * min(map(len, last)) if all(set(each) == {" "} for each in last) else re.escape(last[0])
    body = "".join(_of_column(column, firm=firm, first=not at) for at, column in enumerate(inner))
    if not blanks:
        return body
    shortest = min(last, key=len)
    return f"{body}(?:{re.escape(shortest)}|\\s*$)"


def _is_firm(column: Sequence[str]) -> bool:
    """Whether a part of the prefix is one that a line does not have by chance."""
    first = column[0]
    if not first.strip():
        return False
    if not _is_word(first):
        return True
    return any(sign.isdigit() for sign in first) or len(set(column)) == 1


def _of_column(column: Sequence[str], *, firm: bool, first: bool) -> str:
    """What a part of the prefix may be in other lines."""
    values = Counter(column)
    sample = column[0]
    if not sample.strip():
        return r"\s*" if first else r"\s+"
    if not _is_word(sample):
        return re.escape(sample)
    if all(value.isdigit() for value in values):
        return r"\s*\d+" if first else r"\d+"
    if all(_LEVEL.match(value) for value in values):
        return r"[A-Za-z]+"
    if all(_CALENDAR.match(value) for value in values):
        return "[A-Z][a-z]+"
    if len(values) == 1 and not any(sign.isdigit() for sign in sample):
        return re.escape(sample)
    if firm or len(values) > _MOST_WORDS:
        return _WORD
    return "(?:" + "|".join(re.escape(value) for value in sorted(values, key=len, reverse=True)) + ")"
