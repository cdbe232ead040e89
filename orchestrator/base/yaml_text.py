"""What does a YAML text say, and on which line does what stand?

Whatever the text is, reading it ends soon and in little memory: a dozen lines of aliases to aliases stand for billions
of values, and a few thousand brackets exhaust the stack.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import ConstructorError, DuplicateKeyError, SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    NodeEvent,
    ScalarEvent,
)
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.parser import Parser
from ruamel.yaml.reader import ReaderError

DEEPEST = 40
"""Levels of lists and mappings inside each other; a playbook or patch has at most seven."""
MOST_VALUES = 20_000
"""Values once every alias is replaced by what it stands for; the largest patch has some 200."""
_TAGS = ("str", "int", "float", "bool", "null", "seq", "map", "timestamp", "merge")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Wrong(Exception):
    """What is wrong with a text, as one clause, and on which line (1-based; None where that cannot be said)."""

    def __init__(self, line: int | None, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason


class Excessive(Wrong):
    """It is YAML, but more of it than anybody means."""


@dataclass(frozen=True)
class Document:
    """A text's value, made of dict, list, str, int, float, bool and None alone; a date is its ISO text."""

    value: Any
    _root: Node | None

    def place(self, location: Sequence[int | str]) -> tuple[tuple[int | str, ...], int]:
        """The part of a location that exists in the text (or is missing there), and its line.

        Inside unions pydantic mixes names of types into a location; those are left out.
        """
        node, line = self._root, 1
        existing: list[int | str] = []
        for position, part in enumerate(location):
            if isinstance(node, MappingNode):
                pair = next((pair for pair in node.value if pair[0].value == str(part)), None)
                if pair:
                    line = pair[0].start_mark.line + 1
                elif position < len(location) - 1 or not str(part).isidentifier():
                    continue
                existing.append(part)
                node = pair[1] if pair else None
            elif isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.value):
                node = node.value[part]
                line = node.start_mark.line + 1
                existing.append(part)
        return tuple(existing), line


def read(text: str) -> Document:
    """Read one document of YAML 1.2 without tags of anybody's own; raises Wrong."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Parser, yaml.Constructor = _Bounded, _Careful
    yaml.composer.warn_double_anchors = False
    try:
        root = yaml.compose(text)
        return Document(None if root is None else _plain(yaml.constructor.construct_document(root)), root)
    except DuplicateKeyError as error:
        words = str(error.problem or "").split('"')
        key = words[1] if len(words) > 1 else "?"
        raise Wrong(_line(error), f"{key}: is given twice; allowed: once") from error
    except MarkedYAMLError as error:
        raise Wrong(_line(error), f"is not valid YAML: {error.problem or error.context}") from error
    except ReaderError as error:
        sign = f"U+{error.character:04X}" if isinstance(error.character, int) else repr(error.character)
        line = text.count("\n", 0, error.position) + 1
        raise Wrong(line, f"is not valid YAML: {sign} may not stand in it") from error
    except YAMLError as error:
        raise Wrong(None, f"is not valid YAML: {str(error).strip() or 'unreadable'}") from error
    except Wrong:
        raise
    except Exception as error:  # the parser fails in ways of its own on what nobody would write
        raise Wrong(None, f"is not valid YAML ({type(error).__name__})") from error


def _line(error: MarkedYAMLError) -> int | None:
    mark = error.problem_mark or error.context_mark
    return mark.line + 1 if mark else None


class _Bounded(Parser):
    """The parser, which counts what it gives out; an alias counts as all that it stands for."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._values = 0
        self._open: list[tuple[str | None, int]] = []
        self._sizes: dict[str, int] = {}

    def get_event(self) -> Any:
        event = super().get_event()
        if isinstance(event, NodeEvent):
            self._count(event)
        elif isinstance(event, CollectionEndEvent):
            anchor, before = self._open.pop()
            if anchor:
                self._sizes[anchor] = self._values - before
        elif isinstance(event, DocumentStartEvent) and event.version not in (None, (1, 2)):
            version = ".".join(str(number) for number in event.version)  # there "on" is true, and 010 is 8
            raise Wrong(event.start_mark.line + 1, f"is YAML {version}; allowed: 1.2")
        return event

    def _count(self, event: NodeEvent) -> None:
        line = event.start_mark.line + 1
        if isinstance(event, AliasEvent):
            if any(anchor == event.anchor for anchor, _ in self._open):
                raise Excessive(line, f"*{event.anchor} stands inside of what it refers to")
            self._values += self._sizes.get(event.anchor, 1)
        else:
            self._values += 1
            _refuse_tag(event, line)
        if self._values > MOST_VALUES:
            raise Excessive(line, f"holds more than {MOST_VALUES:,} values, aliases replaced")
        if isinstance(event, CollectionStartEvent):
            self._open.append((event.anchor, self._values - 1))
            if len(self._open) > DEEPEST:
                raise Excessive(line, f"is nested too deep; allowed: {DEEPEST} levels")
        elif isinstance(event, ScalarEvent):
            if event.anchor:
                self._sizes[event.anchor] = 1
            if _SURROGATE.search(event.value):
                raise Wrong(line, "holds half a character, which no file and no terminal takes")


def _refuse_tag(event: NodeEvent, line: int) -> None:
    tag = str(getattr(event, "tag", None) or "!")
    if tag != "!" and tag.removeprefix("tag:yaml.org,2002:") not in _TAGS:
        raise Wrong(line, f"has the tag {tag[:60]}; allowed: no tags")


class _Careful(SafeConstructor):
    """The constructor; what it cannot make a value of is told by its line, whichever way it fails."""

    def construct_object(self, node: Node, deep: bool = False) -> Any:
        if isinstance(node, MappingNode):
            for key, _ in node.value:
                if not isinstance(key, ScalarNode):
                    raise Wrong(key.start_mark.line + 1, "has a list or mapping as a key; allowed: text")
        try:
            return super().construct_object(node, deep=deep)
        except (YAMLError, Wrong):
            raise
        except Exception as error:  # an int of 5,000 digits, the 31st of June
            problem = f"{str(node.value)[:40]!r} is no value ({error})"
            raise ConstructorError(None, None, problem, node.start_mark) from error


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    for kind in (str, bool, int, float):  # without ruamel's own types
        if isinstance(value, kind):
            return kind(value)
    return None
