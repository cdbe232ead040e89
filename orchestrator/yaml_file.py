"""Does a YAML file hold what its model asks for, and if not, on which line is it wrong?"""

from __future__ import annotations

import datetime
import difflib
import shlex
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from orchestrator.errors import UsageError

M = TypeVar("M", bound=BaseModel)
Location = tuple[int | str, ...]


def load_model(path: Path, model: type[M], *, code: str) -> M:
    """Read `path` as YAML 1.2 and check it against `model`, which should forbid unknown keys.

    Raises UsageError(code): one line per mistake, "FILE:LINE: KEY: what is wrong; allowed: ...", in the
    order of the file; lines are 1-based. The next command opens the file on the first of these lines.
    """
    try:
        return _load(path, model, code)
    except UsageError as error:
        error.next_command = _opening(path, error.message)
        raise


def _opening(path: Path, message: str) -> str:
    file = shlex.quote(str(path))
    if not path.is_file():
        return f"ls -l {shlex.quote(str(path.parent))}"
    line = message.removeprefix(f"{path}:").partition(":")[0]
    return f"${{EDITOR:-vi}} +{line} {file}" if line.isdecimal() else f"${{EDITOR:-vi}} {file}"


def _load(path: Path, model: type[M], code: str) -> M:
    try:  # most files are right, and the loader that knows the lines takes twice as long
        return model.model_validate(
            _plain(YAML(typ="safe", pure=True).load(path.read_bytes().decode("utf-8")))
        )
    except (OSError, ValueError, YAMLError, RecursionError):
        pass  # what is wrong is found once more, with its line
    tree = _read(path, code)
    try:
        return model.model_validate(_plain(tree))
    except ValidationError as error:
        mistakes = {_sentence(path, tree, model, detail) for detail in error.errors(include_url=False)}
    raise UsageError(code, "\n".join(text for _, text in sorted(mistakes)))


def _read(path: Path, code: str) -> CommentedMap:
    yaml = YAML(typ="rt")
    try:
        tree = yaml.load(path.read_bytes().decode("utf-8"))
        _plain(tree)
    except OSError as error:
        raise UsageError(code, f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(code, f"{path}: is not UTF-8 text (byte {error.start})") from error
    except DuplicateKeyError as error:
        raise UsageError(code, _duplicate(path, error)) from error
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise UsageError(code, f"{where}: is not valid YAML: {error.problem or error.context}") from error
    except (YAMLError, ValueError) as error:
        raise UsageError(code, f"{path}: is not valid YAML: {str(error).strip() or 'unreadable'}") from error
    except RecursionError as error:
        raise UsageError(code, f"{path}: is nested too deep, or refers to itself") from error
    if not isinstance(tree, CommentedMap):
        found = "nothing" if tree is None else "a list" if isinstance(tree, CommentedSeq) else "a plain value"
        raise UsageError(code, f"{path}:1: holds {found}; allowed: a mapping of keys to values")
    return tree


def _duplicate(path: Path, error: DuplicateKeyError) -> str:
    line = error.problem_mark.line + 1 if error.problem_mark else 1
    words = str(error.problem or "").split('"')
    return f"{path}:{line}: {words[1] if len(words) > 1 else '?'}: is given twice; allowed: once"


def _plain(value: Any) -> Any:
    """The value without ruamel's own types; a date becomes its ISO text again."""
    if isinstance(value, Mapping):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bool, type(None))):
        return value
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    if isinstance(value, Sequence):
        return [_plain(item) for item in value]
    for kind in (int, float):
        if isinstance(value, kind):
            return kind(value)
    return value


def _sentence(
    path: Path, tree: CommentedMap, model: type[BaseModel], detail: ErrorDetails
) -> tuple[int, str]:
    location, line = _place(tree, detail["loc"])
    key = ".".join(str(part) for part in location) or "(file)"
    return line, f"{path}:{line}: {key}: {_wrong(model, location, detail)}"


def _place(tree: CommentedMap, location: Location) -> tuple[Location, int]:
    """The part of pydantic's location that exists in the file (or is missing there), and its line.

    Inside unions pydantic mixes names of types into a location; those are left out.
    """
    node: Any = tree
    line = 1
    found: list[int | str] = []
    for position, part in enumerate(location):
        if isinstance(node, CommentedMap):
            if part in node:
                line = node.lc.key(part)[0] + 1
            elif position < len(location) - 1 or not str(part).isidentifier():
                continue
            found.append(part)
            node = node.get(part)
        elif isinstance(node, CommentedSeq) and isinstance(part, int) and part < len(node):
            line = node.lc.item(part)[0] + 1
            found.append(part)
            node = node[part]
    return tuple(found), line


def _wrong(model: type[BaseModel], location: Location, detail: ErrorDetails) -> str:
    kind = detail["type"]
    if kind == "extra_forbidden":
        known = _keys(model, location[:-1])
        near = difflib.get_close_matches(str(location[-1]), known, n=1)
        hint = f", did you mean {near[0]}?" if near else ""
        return f"is not a known key{hint}; allowed: {', '.join(known)}"
    if kind == "missing":
        return "is missing"
    given = f"{detail['input']!r:.60} " if not isinstance(detail["input"], (dict, list)) else ""
    if kind in ("literal_error", "enum"):
        expected = str(detail.get("ctx", {}).get("expected", ""))
        known = [word.strip(" '") for word in expected.replace(" or ", ", ").split(",")]
        near = difflib.get_close_matches(str(detail["input"]), known, n=1)
        hint = f", did you mean {near[0]}?" if near else ""
        return f"{given}is not one of the known values{hint}; allowed: {', '.join(known)}"
    said = detail["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if kind == "value_error":
        return said
    return f"{given}is wrong; allowed: {said.removeprefix('Input should be ')}"


def _keys(model: type[BaseModel], location: Location) -> list[str]:
    """The keys that may stand in the mapping at `location`."""
    types_here: list[Any] = [model]
    for part in location:
        types_here = [inner for outer in types_here for inner in _inside(outer, part)]
    names: dict[str, None] = {}
    for kind in types_here:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            for name, field in kind.model_fields.items():
                names[field.alias or name] = None
    return list(names)


def _inside(kind: Any, part: int | str) -> list[Any]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        for name, field in kind.model_fields.items():
            if part in (name, field.alias):
                return _members(field.annotation)
        return []
    arguments = [argument for argument in get_args(kind) if argument is not Ellipsis]
    return _members(arguments[-1]) if arguments else []


def _members(annotation: Any) -> list[Any]:
    """The alternatives of a union, or the annotation itself; `Annotated` is looked through."""
    if hasattr(annotation, "__metadata__"):
        return _members(annotation.__origin__)
    if get_origin(annotation) in (Union, types.UnionType):
        return [inner for member in get_args(annotation) for inner in _members(member)]
    return [annotation]
