"""Which Python came with a checkpoint, as far as transformers would run it?

With trust_remote_code transformers runs the files that `auto_map` names, and what those import relatively: any *.py of the
folder and of the folders in it, but those with a dot in their name. An `auto_map` may name another repository too (`ORG/NAME--file.Class`), or
a file elsewhere by its whole path: that code is not here.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from typing import Any

from orchestrator.on_host.files import regular_file

MOST_ENTRIES = 20_000
MOST_FILES = 1000
MOST_BYTES = 64 << 20
"""Entries of folders that are looked at, Python files that are remembered, and bytes of them that are hashed; beyond them
nothing is known for sure."""
_LONGEST_CONFIG = 4 << 20


class _TooMuch(Exception):
    pass


def describe(folder: str) -> dict[str, Any]:
    """{files: {name: sha256 of the file}, elsewhere: [repository], whole: whether all of it could be read}."""
    files: dict[str, str] = {}
    try:
        left = MOST_BYTES
        for path in _python(folder):
            content = _read(path, left)
            left -= len(content)
            files[os.path.relpath(path, folder)] = hashlib.sha256(content).hexdigest()
            if len(files) > MOST_FILES:
                raise _TooMuch
        return {"files": files, "elsewhere": _elsewhere(folder), "whole": True}
    except (_TooMuch, regular_file.Unfit, OSError):
        return {"files": {}, "elsewhere": [], "whole": False}


def _python(root: str) -> Iterator[str]:
    """Every Python file that an import from a file of the folder reaches; a link is what it leads to."""
    seen: set[str] = set()
    waiting, entries = [root], 0
    while waiting:
        folder = waiting.pop()
        real = os.path.realpath(folder)
        if real in seen or not os.path.isdir(real):
            continue
        seen.add(real)
        for name in sorted(os.listdir(folder)):
            entries += 1
            if entries > MOST_ENTRIES:
                raise _TooMuch
            path = os.path.join(folder, name)
            if name.endswith(".py"):
                yield path
            elif "." not in name and os.path.isdir(path):
                waiting.append(path)


def _read(path: str, most: int) -> bytes:
    try:
        return regular_file.read(path, most)
    except regular_file.TooLarge as why:
        raise _TooMuch from why


def _elsewhere(folder: str) -> list[str]:
    places: set[str] = set()
    for name in sorted(os.listdir(folder)):
        if not name.endswith("config.json"):
            continue
        with contextlib.suppress(ValueError, RecursionError):  # the engine cannot read it either
            for reference in _references(json.loads(_read(os.path.join(folder, name), _LONGEST_CONFIG))):
                repository, dashes, _ = reference.partition("--")
                if dashes:
                    places.add(repository[:200])
                elif (
                    os.path.isabs(reference) or ".." in reference
                ):  # joined to the folder's path, it leads out of it
                    places.add(reference[:200])
    return sorted(places)


def _references(value: Any, named: bool = False) -> Iterator[str]:
    """Every text below an `auto_map`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _references(inner, named or key in ("auto_map", "custom_pipelines"))
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner, named)
    elif named and isinstance(value, str):
        yield value
