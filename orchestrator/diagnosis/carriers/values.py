"""In which value of a structured record does the engine's line stand: which key of a JSON object, of key=value pairs, which
column of a table?"""

from __future__ import annotations

import ast
import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.diagnosis.carriers import anchors
from orchestrator.diagnosis.carriers.anchors import Anchors
from orchestrator.diagnosis.carriers.layer import Numbered
from orchestrator.engines.log_grammar import LogGrammar

FieldPath = tuple[str | int, ...]
"""The way to a value: keys of objects, numbers of items."""
Reader = Callable[[str], Iterator[tuple[FieldPath, str]]]
_PAIR = re.compile(r'([\w.@-]{1,80})=(?:"((?:[^"\\]|\\.)*)"|(\S*))')
_QUOTATION = re.compile(r'((?:"\w{1,40}"|\w{1,40})?[=:>~]{1,2} ?|)"((?:[^"\\]|\\.)*)"')
_LITERALS = ("'", '"', "b'", 'b"')
_JSON = json.JSONDecoder()
_BRACKETS = ("[", "]", "{", "}")
_DEEPEST = 6
_LEAST_SHARE = 0.8
"""Of the lines that must be such records."""


@dataclass(frozen=True)
class Values:
    """Takes of each record the value at `path`, as the lines it has; another line stays as it is, but for the brackets around all."""

    read: Reader
    path: FieldPath

    def peel(self, lines: Iterable[Numbered]) -> Iterator[Numbered]:
        for number, text in lines:
            other = "" if text.strip() in _BRACKETS else text
            value = next((value for path, value in self.read(text) if path == self.path), other)
            for each in value.rstrip("\r\n").split("\n"):
                yield Numbered(number, each)


def learn(lines: Sequence[str], grammar: LogGrammar) -> Values | None:
    """Where in the records of a log the engine's lines are; None where its lines are no records of anybody else."""
    written = [text for text in lines if text.strip()]
    if not written:
        return None
    readers = (_of_json, _of_pairs, _of_literal, *((_of_row,) if _is_table(written) else ()), _of_quotations)
    known = anchors.of(grammar)
    return next((values for read in readers if (values := _learned(written, read, known))), None)


def _learned(written: Sequence[str], read: Reader, known: Anchors) -> Values | None:
    paths: Counter[FieldPath] = Counter()
    records = 0
    for text in written:
        values = list(read(text))
        records += bool(values)
        paths.update(path for path, value in values if known.start(value) >= 0)
    if not paths or records < _LEAST_SHARE * len(written):
        return None
    return Values(read, paths.most_common(1)[0][0])


def _of_json(text: str) -> Iterator[tuple[FieldPath, str]]:
    begin = text.find("{")
    if begin < 0:
        return
    try:
        value, _ = _JSON.raw_decode(text, begin)
    except (ValueError, RecursionError):
        return
    yield from _leaves(value, ())


def _leaves(value: Any, path: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    if isinstance(value, str):
        yield path, value
    elif len(path) < _DEEPEST and isinstance(value, (dict, list)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from _leaves(item, (*path, key))


def _of_pairs(text: str) -> Iterator[tuple[FieldPath, str]]:
    """logfmt, as programs in Go write it."""
    if not (first := _PAIR.match(text)):
        return
    yield (first[1],), _plain(first)
    for pair in _PAIR.finditer(text, first.end()):
        yield (pair[1],), _plain(pair)


def _plain(pair: re.Match[str]) -> str:
    return pair[3] if pair[2] is None else _unescaped(pair[2])


def _unescaped(quoted: str) -> str:
    try:
        return str(json.loads(f'"{quoted}"'))
    except ValueError:
        return quoted


def _of_quotations(text: str) -> Iterator[tuple[FieldPath, str]]:
    """Whatever is quoted, by what stands before it: `"log"=>`, `line: `."""
    for quotation in _QUOTATION.finditer(text):
        if quotation[1]:
            yield (quotation[1],), _unescaped(quotation[2])


def _of_literal(text: str) -> Iterator[tuple[FieldPath, str]]:
    """What Python prints of a line that it read, alone or in a list."""
    literal = text.strip().rstrip(",")
    if not literal.startswith(_LITERALS):
        return
    try:
        value = ast.literal_eval(literal)
    except (ValueError, SyntaxError):
        return
    if isinstance(value, (str, bytes)):
        yield (), value if isinstance(value, str) else value.decode("utf-8", "replace")


def _is_table(written: Sequence[str]) -> bool:
    """Whether the lines are rows of as many columns, of which some are quoted, as texts with a comma are."""
    columns = Counter(sum(1 for _ in _of_row(text)) for text in written)
    count, rows = columns.most_common(1)[0]
    quoted = any(text.startswith('"') or ',"' in text for text in written)
    return quoted and count > 1 and rows >= _LEAST_SHARE * len(written)


def _of_row(text: str) -> Iterator[tuple[FieldPath, str]]:
    """A table with a record of one line a row."""
    if "," not in text:
        return
    try:
        (row,) = csv.reader([text], strict=True)
    except (csv.Error, ValueError):
        return
    if len(row) > 1:
        yield from (((column,), value) for column, value in enumerate(row))
