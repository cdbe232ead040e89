"""Does a YAML file hold what its model asks for, and if not, on which line is it wrong?"""

from __future__ import annotations

import difflib
import shlex
import types
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from orchestrator.base import yaml_text
from orchestrator.base.errors import UsageError
from orchestrator.base.yaml_text import Document
from orchestrator.on_host.files import regular_file
from orchestrator.on_host.secrets.secrets import brief

M = TypeVar("M", bound=BaseModel)
Location = tuple[int | str, ...]
LARGEST_BYTES = 1 << 20
"""A playbook takes some kilobytes, the largest patch seven."""


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


def text(path: Path, *, code: str) -> str:
    """The text of a playbook or patch; raises UsageError(code)."""
    try:
        return regular_file.read(path, LARGEST_BYTES).decode("utf-8")
    except regular_file.Unfit as error:
        raise UsageError(code, f"{path}: {error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(code, f"{path}: is not UTF-8 text (byte {error.start})") from error


def _opening(path: Path, message: str) -> str:
    file = shlex.quote(str(path))
    if not regular_file.is_one(path):
        return f"ls -l {shlex.quote(str(path.parent))}"
    line = message.removeprefix(f"{path}:").partition(":")[0]
    return f"${{EDITOR:-vi}} +{line} {file}" if line.isdecimal() else f"${{EDITOR:-vi}} {file}"


def _load(path: Path, model: type[M], code: str) -> M:
    try:
        document = yaml_text.read(text(path, code=code))
    except yaml_text.Wrong as error:
        where = path if error.line is None else f"{path}:{error.line}"
        raise UsageError(code, f"{where}: {error.reason}") from error
    mapping = document.value
    if not isinstance(mapping, dict):
        content = "nothing" if mapping is None else "a list" if isinstance(mapping, list) else "a plain value"
        raise UsageError(code, f"{path}:1: holds {content}; allowed: a mapping of keys to values")
    try:
        return model.model_validate(mapping)
    except ValidationError as error:
        details = error.errors(include_url=False)
        mistakes = {_sentence(path, document, model, detail) for detail in details}
    raise UsageError(code, "\n".join(text for _, text in sorted(mistakes)))


def _sentence(
    path: Path, document: Document, model: type[BaseModel], detail: ErrorDetails
) -> tuple[int, str]:
    location, line = document.place(detail["loc"])
    key = ".".join(str(part) for part in location) or "(file)"
    sentence = f"{path}:{line}: {key}: {_wrong(model, location, detail)}"
    return line, sentence.replace("\n", " ")  # a key may hold a line end, and forge a line of ours with it


def _wrong(model: type[BaseModel], location: Location, detail: ErrorDetails) -> str:
    kind = detail["type"]
    if kind == "extra_forbidden":
        known = _keys(model, location[:-1])
        near = difflib.get_close_matches(str(location[-1]), known, n=1)
        hint = f", did you mean {near[0]}?" if near else ""
        return f"is not a known key{hint}; allowed: {', '.join(known)}"
    if kind == "missing":
        return "is missing"
    value = f"{brief(repr(detail['input']), 60)} " if not isinstance(detail["input"], (dict, list)) else ""
    if kind in ("literal_error", "enum"):
        expected = str(detail.get("ctx", {}).get("expected", ""))
        known = [word.strip(" '") for word in expected.replace(" or ", ", ").split(",")]
        near = difflib.get_close_matches(str(detail["input"]), known, n=1)
        hint = f", did you mean {near[0]}?" if near else ""
        return f"{value}is not one of the known values{hint}; allowed: {', '.join(known)}"
    reason = detail["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if kind == "value_error":
        return reason
    return f"{value}is wrong; allowed: {reason.removeprefix('Input should be ')}"


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
