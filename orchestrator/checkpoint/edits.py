"""What do a checkpoint's config files say, and what is left of them once their edits are in?"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from orchestrator.base.errors import CheckpointError
from orchestrator.checkpoint import json_spans
from orchestrator.on_host.checkpoint.configs import CONFIG
from orchestrator.patches.pointer import steps


@dataclass(frozen=True)
class Edit:
    """One member of one file; `path` is a JSON pointer, `value` what it is set to."""

    file: str
    path: str
    op: Literal["set", "remove"]
    value: Any = None


@dataclass(frozen=True)
class Edits:
    """The edits of a checkpoint, with the bytes of each changed file before and after."""

    edits: tuple[Edit, ...]
    before: Mapping[str, bytes]
    after: Mapping[str, bytes]
    """config.json first, which decides where it says something."""


def documents(files: Mapping[str, bytes]) -> dict[str, dict[str, Any]]:
    """What each file says. Raises CheckpointError: "config_broken" for a file that is no JSON, "config_shape" for one that
    holds no object."""
    return {name: document(files, name) for name in files}


def document(files: Mapping[str, bytes], name: str) -> dict[str, Any]:
    """What this file says; raises as `documents` does, and "config_broken" where it is not there."""
    if name not in files:
        raise CheckpointError("config_broken", f"the checkpoint has no {name}")
    content = json_spans.value(files[name], name=name)
    if not isinstance(content, dict):
        kind = "a list" if isinstance(content, list) else "a single value"
        raise CheckpointError(
            "config_shape", f"{name} holds {kind} where an object is expected: nothing is edited"
        )
    return content


def carry_out(files: Mapping[str, bytes], edits: Iterable[Edit]) -> Edits:
    """Each edit done in turn; every other byte stays as it was.

    Raises CheckpointError("config_broken") where a member cannot be edited by itself.
    """
    done = tuple(edits)
    after: dict[str, bytes] = {}
    for edit in sorted(done, key=lambda edit: edit.file != CONFIG):
        data = after.get(edit.file, files[edit.file])
        path = _path(edit.path, json_spans.value(data, name=edit.file))
        if edit.op == "remove":
            after[edit.file] = json_spans.remove(data, path, name=edit.file)
        else:
            after[edit.file] = json_spans.put(data, path, edit.value, name=edit.file)
    return Edits(done, {name: files[name] for name in after}, after)


def _path(pointer: str, inner: Any) -> json_spans.KeyPath:
    """A step into an array is an index."""
    path: list[str | int] = []
    for step in steps(pointer):
        path.append(int(step) if isinstance(inner, list) and step.isdecimal() else step)
        try:
            inner = inner[path[-1]]
        except (KeyError, IndexError, TypeError):  # a member that is added
            inner = None
    return tuple(path)


def unified_diff(edits: Edits) -> str:
    """The edits as one unified diff, a/FILE against b/FILE, as `patch -p1` takes it."""
    text = ""
    for name, after in edits.after.items():
        old, new = (_lines(data) for data in (edits.before[name], after))
        for line in difflib.unified_diff(old, new, f"a/{name}", f"b/{name}"):
            text += line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
    return text


def _lines(data: bytes) -> list[str]:
    return [line for line in data.decode("utf-8").replace("\n", "\n\0").split("\0") if line]
