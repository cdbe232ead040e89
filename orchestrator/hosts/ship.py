"""How does a small program get onto a host and its answer back, without installing anything?

The program's modules and its request travel over standard input; only a fixed bootstrap stands in argv,
so neither a request nor a secret in it is ever visible to another user of the host.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import marshal
import pkgutil
import re
import zlib
from collections.abc import Mapping
from importlib.abc import InspectLoader
from types import CodeType
from typing import Any

PACKAGE = "orchestrator.on_host"
ROOMS = (
    "checkpoint",
    "clusters",
    "collectives",
    "environments",
    "files",
    "kinds",
    "ports",
    "processes",
    "programs",
    "removing",
    "secrets",
    "state",
)
"""Folders of the package; what is imported from one is a module."""
_IMPORT = re.compile(
    rf"^ *from {re.escape(PACKAGE)}[.](?P<of>\S+) import (?:[(](?P<lines>[^)]*)[)]|(?P<line>.*))",
    re.MULTILINE,
)
"""As the texts of this package write it. Parsing them as Python takes longer than anything else before the first answer."""
_MAGIC = importlib.util.MAGIC_NUMBER.hex().encode("ascii")
"""Of the bytecode that this Python makes and takes."""
_QUICKLY = 1
"""Level of compression: a third more bytes than with the usual one, in a third of the time."""


@functools.cache
def _source(module: str) -> str:
    text = pkgutil.get_data(PACKAGE, f"{module.replace('.', '/')}.py")
    assert text is not None  # of a loader that can read files
    return text.decode()


@functools.cache
def _imported(text: str) -> tuple[str, ...]:
    """The modules of this package that a module imports; most are imported by many, and read once."""
    modules: list[str] = []
    for imports in _IMPORT.finditer(text):
        names = re.findall(r"\w+", imports["lines"] or imports["line"])
        modules += (
            [f"{imports['of']}.{name}" for name in names] if imports["of"] in ROOMS else [imports["of"]]
        )
    return tuple(modules)


@functools.cache
def _modules(module: str) -> tuple[tuple[str, str, str], ...]:
    """Name, digest and text of the module and of everything in this package that it imports, dependencies first."""
    needed: dict[str, str] = {}

    def visit(name: str) -> None:
        if f"{PACKAGE}.{name}" in needed:
            return
        text = _source(name)
        for imported in _imported(text):
            visit(imported)
        needed[f"{PACKAGE}.{name}"] = text

    visit("refusal")
    visit(f"programs.{module}")
    return tuple(
        (name, hashlib.sha256(text.encode()).hexdigest()[:16], text) for name, text in needed.items()
    )


def _code(name: str, text: str) -> CodeType:
    """A module's bytecode, as Python keeps it beside its file; compiling all of a program takes longer than looking at a host."""
    spec = importlib.util.find_spec(name)
    if spec is not None and isinstance(spec.loader, InspectLoader) and spec.loader.get_source(name) == text:
        code = spec.loader.get_code(name)
        if code is not None:
            return code
    return compile(text, f"<{name}>", "exec")


@functools.lru_cache(maxsize=64)  # a hundred hosts are sent the same, one after the other
def _parts(module: str, without: frozenset[str]) -> tuple[bytes, bytes]:
    """The modules as text and as bytecode, as a bundle has them, without those of these digests."""
    new = [entry for entry in _modules(module) if entry[1] not in without]
    if not new:
        return b"", b""
    codes = {digest: _code(name, text) for name, digest, text in new}
    return (
        zlib.compress(json.dumps(new).encode("ascii"), _QUICKLY),
        zlib.compress(marshal.dumps(codes), _QUICKLY),
    )


def bundle(module: str, request: Mapping[str, Any], *, deadline: float | None) -> bytes:
    """What to write to the standard input of `python -c BOOTSTRAP` to run `on_host/programs/MODULE.py`.

    `deadline` in seconds ends the program on the host by itself (SIGALRM), also when the connection
    is gone; None for a program that ends with its input.
    """
    return _bundle(module, request, deadline, frozenset(), b"")


def further_bundle(
    module: str, request: Mapping[str, Any], *, deadline: float, token: bytes, sent: set[str]
) -> bytes:
    """The same for a RUNNER: framed by the token, without the modules that were sent before (their digests)."""
    data = _bundle(module, request, deadline, frozenset(sent), token)
    sent.update(digest for _, digest, _ in _modules(module))
    return data


def _bundle(
    module: str, request: Mapping[str, Any], deadline: float | None, without: frozenset[str], token: bytes
) -> bytes:
    names = [(name, digest) for name, digest, _ in _modules(module)]
    asked = json.dumps({"modules": names, "request": dict(request), "deadline": deadline}).encode("ascii")
    parts = (*_parts(module, without), asked)
    head = b" ".join([*(str(len(part)).encode("ascii") for part in parts), _MAGIC, token])
    return b"".join([head, b"\n", *parts])
