"""How is one member of a JSON file set or removed while every other byte stays as it was?

`json.loads` followed by `json.dumps` is not that: it rewrites indentation, inline arrays and numbers
such as 1e308. Here the text is only scanned for where a member begins and ends.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from orchestrator.base.errors import CheckpointError

KeyPath = tuple[str | int, ...]
"""Where a value stands: member names and array indexes from the top."""

_GONE = object()
"""In the place of a value: the member is not there."""
DEEPEST = 100
"""Levels of objects and arrays inside each other; a config has ten, and Python's stack ends at some hundreds."""
_MARK = "\ufeff"
"""A byte order mark: Python's `json`, with which transformers and vLLM read, refuses a text that begins with it."""
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


@dataclass(frozen=True)
class Child:
    """A member of an object or an element of an array, as character offsets into the text."""

    key: str | int
    start: int
    """The key's first quote; of an element, the value's first character."""
    value: int
    end: int
    """One past the value's last character."""


def decode(data: bytes, *, name: str) -> str:
    """The text of a JSON file, checked to be JSON; raises CheckpointError("config_broken")."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        raise broken(name, "not UTF-8", line, column) from error
    if text.startswith(_MARK):
        raise broken(name, "begins with a byte order mark, at which every engine stops", 1, 1)
    if (deep := _too_deep(text)) is not None:
        raise broken(name, f"nested too deeply to be read, more than {DEEPEST} levels", *_place(text, deep))
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise broken(name, f"not JSON: {error.msg}", error.lineno, error.colno) from error
    except ValueError as error:  # an integer of thousands of digits
        raise broken(name, f"not readable: {error}", 1, 1) from error
    return text


def broken(name: str, fault: str, line: int, column: int) -> CheckpointError:
    return CheckpointError(
        "config_broken",
        f"{name} line {line} column {column}: {fault}",
    )


def value(data: bytes, *, name: str) -> Any:
    """What the file says, as `json.loads` gives it; raises CheckpointError("config_broken")."""
    return json.loads(decode(data, name=name))


def remove(data: bytes, path: KeyPath, *, name: str) -> bytes:
    """The file without the member at `path`, cut together with one comma and its whitespace.

    Raises CheckpointError("config_broken") where the file is no JSON, the member is not there, or its
    name stands twice in its object, so that it is unclear which one a reader takes.
    """
    text = decode(data, name=name)
    parent = _start(text, path[:-1], name)
    siblings = children(text, parent)
    member = _pick(text, siblings, path[-1], name)
    at = siblings.index(member)
    if at + 1 < len(siblings):
        cut = (member.start, siblings[at + 1].start)
    elif at:
        cut = (siblings[at - 1].end, member.end)
    else:
        cut = (parent + 1, _next_token(text, member.end))
    return _checked(text, text[: cut[0]] + text[cut[1] :], path, name, _GONE)


def put(data: bytes, path: KeyPath, value: Any, *, name: str) -> bytes:
    """The file with this value at `path`: in the place of what stands there, else as one more member at the head of its
    object. Raises as `remove` does, and where there is no object for a new member.
    """
    text = decode(data, name=name)
    parent = _start(text, path[:-1], name)
    siblings = children(text, parent)
    written = json.dumps(value, allow_nan=False)
    if any(child.key == path[-1] and type(child.key) is type(path[-1]) for child in siblings):
        member = _pick(text, siblings, path[-1], name)
        after = text[: member.value] + written + text[member.end :]
        return _checked(text, after, path, name, _exact(written))
    if text[parent] != "{":
        raise CheckpointError("config_broken", f"{name} has no room for a new {path[-1]!r} there")
    gap = text[parent + 1 : siblings[0].start] if siblings else ""
    comma = "" if not siblings else "," if gap else ", "
    after = text[: parent + 1] + gap + f"{json.dumps(path[-1])}: {written}{comma}" + text[parent + 1 :]
    # what was added and is taken away again must leave what was there
    _checked(after, text, path, name, _GONE)
    return after.encode("utf-8")


def children(text: str, start: int) -> list[Child]:
    """The members or elements of the object or array that opens at `start`, in file order."""
    members: list[Child] = []
    keyed = text[start] == "{"
    depth, previous = 0, start
    key: re.Match[str] | None = None
    first: int | None = None
    for token in _TOKEN.finditer(text, start):
        mark = token.group()
        if depth == 1 and mark in (",", "}", "]"):
            if first is not None:
                name = json.loads(key.group()) if key else len(members)
                members.append(Child(name, key.start() if key else first, first, previous))
            key, first = None, None
        elif depth == 1 and keyed and key is None:
            key = token
        elif depth == 1 and mark != ":" and first is None:
            first = token.start()
        if mark in ("{", "["):
            depth += 1
        elif mark in ("}", "]"):
            depth -= 1
            if depth == 0:
                break
        previous = token.end()
    return members


def _next_token(text: str, offset: int) -> int:
    token = _TOKEN.search(text, offset)
    assert token is not None  # the text was checked to be whole JSON
    return token.start()


def _start(text: str, path: KeyPath, name: str) -> int:
    at = _next_token(text, 0)
    for step in path:
        at = _pick(text, children(text, at), step, name).value
    return at


def _pick(text: str, members: list[Child], key: str | int, name: str) -> Child:
    same = [child for child in members if child.key == key and type(child.key) is type(key)]
    if not same:
        raise CheckpointError("config_broken", f"{name} has no {key!r} where one was expected")
    if len(same) > 1:
        raise broken(name, f"{key!r} stands twice in one object", *_place(text, same[1].start))
    return same[0]


def _place(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def _too_deep(text: str) -> int | None:
    """Where the first value begins that lies too deep."""
    if text.count("{") + text.count("[") <= DEEPEST:
        return None
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += (token.group() in ("{", "[")) - (token.group() in ("}", "]"))
        if depth > DEEPEST:
            return token.start()
    return None


def _checked(before: str, after: str, path: KeyPath, name: str, value: Any) -> bytes:
    """The bytes of `after`, once it is certain that nothing but the member at `path` changed: to `value`, or it is gone."""
    if _exact(after) != _edited(_exact(before), path, value):
        raise CheckpointError(
            "config_broken", f"{name} cannot be edited without changing more than one member"
        )
    return after.encode("utf-8")


_Tree = Any
"""A document with numbers as written and objects as tuples of pairs, so that == misses no difference."""


def _exact(text: str) -> _Tree:
    return json.loads(
        text,
        object_pairs_hook=lambda pairs: ("object", tuple(pairs)),
        parse_float=lambda digits: ("number", digits),
        parse_int=lambda digits: ("number", digits),
        parse_constant=lambda digits: ("number", digits),
    )


def _edited(tree: _Tree, path: KeyPath, value: Any) -> _Tree:
    step, rest = path[0], path[1:]
    pairs = enumerate(tree) if isinstance(tree, list) else tree[1]
    kept = [
        (key, child if key != step else _edited(child, rest, value) if rest else value)
        for key, child in pairs
        if rest or value is not _GONE or key != step
    ]
    return [child for _, child in kept] if isinstance(tree, list) else ("object", tuple(kept))
